#include <algorithm>

#include "dispatch.hpp"
#include "proof.hpp"
#include "proof_arguments.hpp"
#include "thread_pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

void py_subset_sums(nb::object values_arg, nb::object coefficients_arg, nb::object out_arg, int words_arg) {
  const char* const function = "subset_sums";
  const std::size_t words = checked_words(function, words_arg);
  const WordArray values(function, "values", values_arg, kAnyShape);
  const ByteArray coefficients = checked_coefficients(function, coefficients_arg);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = coefficients.shape(0);
  values.require_size(n * words);
  out.require_size(kSums * words);
  out.require_apart_from(values);
  out.require_apart_from(coefficients);
  nb::gil_scoped_release unlocked;
  current_kernels().proof.subset_sums[words - 1](values.data(), coefficients.data(), n, out.data());
}

// How often a largest product is added must leave room in the topmost limb.
void require_room(const char* function, const char* name, std::size_t count, std::size_t arrays) {
  if (static_cast<Wide>(count) * arrays * arrays >= static_cast<Wide>(1) << 60)
    refuse_value(function, name, "a list of arrays with fewer than 2^60 products in all", std::to_string(count) + " indices");
}

void py_claimed_sums(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg, nb::object coefficients_arg,
                     long long terms_arg, nb::object out_arg, int words_arg) {
  const char* const function = "claimed_sums";
  const std::size_t words = checked_words(function, words_arg);
  if (terms_arg < 1) refuse_value(function, "terms", "a number from 1", std::to_string(terms_arg));
  const std::size_t terms = static_cast<std::size_t>(terms_arg);
  const FormArguments arguments(function, "xs", xs_arg, "ys", ys_arg, masks_arg, kAnyShape);
  const ByteArray coefficients = checked_coefficients(function, coefficients_arg);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = coefficients.shape(0);
  if (static_cast<Wide>(n) * terms >= static_cast<Wide>(1) << 60)
    refuse_value(function, "terms", "a number for which there are fewer than 2^60 indices", std::to_string(terms));
  require_room(function, "xs", n * terms, arguments.count());
  arguments.require_size(n * terms * words);
  out.require_size(kSums * (2 * words + 1));
  arguments.require_apart_from(out);
  out.require_apart_from(coefficients);
  nb::gil_scoped_release unlocked;
  current_kernels().proof.claimed_sums[words - 1](arguments.form(), coefficients.data(), n, terms, out.data());
}

void py_claimed_matrix(nb::object ys_arg, nb::object vs_arg, nb::object masks_arg, nb::object out_arg, int words_arg) {
  const char* const function = "claimed_matrix";
  const std::size_t words = checked_words(function, words_arg);
  const FormArguments arguments(function, "ys", ys_arg, "vs", vs_arg, masks_arg, 2);
  const std::size_t n = arguments.first().elements(words);
  arguments.first().require_shape(kSums, n * words);
  require_room(function, "ys", n, arguments.count());
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  out.require_size(kSums * kSums * (2 * words + 1));
  arguments.require_apart_from(out);
  nb::gil_scoped_release unlocked;
  current_kernels().proof.claimed_matrix[words - 1](arguments.form(), n, out.data());
}

template <bool kTransposed>
void py_project(nb::object mask_arg, nb::object matrix_arg, nb::object out_arg, int words_arg, int threads_arg) {
  const char* const function = kTransposed ? "project_t" : "project";
  constexpr std::size_t kPiece = 64;  // columns of out: no tile is cut needlessly
  constexpr std::size_t kElementsPerThread = 50000;
  const std::size_t words = checked_words(function, words_arg);
  const std::size_t threads = checked_threads(function, threads_arg);
  const WordArray mask(function, "mask", mask_arg, kAnyShape), matrix(function, "matrix", matrix_arg, 2);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t rows = matrix.shape(0), cols = matrix.elements(words);
  const std::size_t depth = kTransposed ? cols : rows, lanes = kTransposed ? rows : cols;
  mask.require_size(depth);
  out.require_shape(kSums, lanes * words);
  out.require_apart_from(mask);
  out.require_apart_from(matrix);
  const Projected projected{mask.data(), depth, matrix.data(), kTransposed ? 1 : cols, kTransposed ? cols : 1, lanes};
  nb::gil_scoped_release unlocked;
  const Kernels& kernels = current_kernels();
  const std::size_t useful = std::max<std::size_t>(1, std::min(threads, rows * cols / kElementsPerThread));
  const std::size_t units = (lanes + kPiece - 1) / kPiece, pieces = useful == 1 ? 1 : std::min(units, 4 * useful);
  auto body = [&](std::size_t piece, std::size_t) {
    const std::size_t begin = units * piece / pieces * kPiece;
    const std::size_t end = std::min(lanes, units * (piece + 1) / pieces * kPiece);
    kernels.proof.project[words - 1](projected, begin, end, out.data());
  };
  for_pieces(useful, pieces, body);
}

}  // namespace

void def_proof_ring(nb::module_& m) {
  m.def("subset_sums", &py_subset_sums, "values"_a.none(), "coefficients"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("claimed_sums", &py_claimed_sums, "xs"_a.none(), "ys"_a.none(), "masks"_a.none(), "coefficients"_a.none(),
        "terms"_a.noconvert(), "out"_a.none(), "words"_a.noconvert());
  m.def("claimed_matrix", &py_claimed_matrix, "ys"_a.none(), "vs"_a.none(), "masks"_a.none(), "out"_a.none(),
        "words"_a.noconvert());
  m.def("project", &py_project<false>, "mask"_a.none(), "matrix"_a.none(), "out"_a.none(), "words"_a.noconvert(),
        "threads"_a.noconvert() = 0);
  m.def("project_t", &py_project<true>, "mask"_a.none(), "matrix"_a.none(), "out"_a.none(), "words"_a.noconvert(),
        "threads"_a.noconvert() = 0);
}

}  // namespace cofit
