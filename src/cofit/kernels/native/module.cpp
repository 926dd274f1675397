// cofit.kernels._native: check the arguments, release the interpreter lock, run the kernel.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "arguments.hpp"
#include "combine.hpp"
#include "dispatch.hpp"
#include "freed_memory.hpp"
#include "clip.hpp"
#include "masked.hpp"
#include "narrow.hpp"
#include "ot.hpp"
#include "products.hpp"
#include "proof.hpp"
#include "rlwe.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

using Arrays = std::vector<WordArray>;

Terms terms_of(const Arrays& left, const Arrays& right) {
  Terms terms;
  terms.count = left.size();
  for (std::size_t t = 0; t < terms.count; ++t) {
    terms.left[t] = left[t].data();
    terms.right[t] = right[t].data();
  }
  return terms;
}

void require_apart(const WordArray& out, const Arrays& left, const Arrays& right) {
  for (const WordArray& array : left) out.require_apart_from(array);
  for (const WordArray& array : right) out.require_apart_from(array);
}

template <bool kTransposed>
void py_matvec(nb::object mats_arg, nb::object vecs_arg, nb::object out_arg, int words_arg, int threads_arg) {
  const char* const function = kTransposed ? "matvec_t" : "matvec";
  const std::size_t words = checked_words(function, words_arg);
  const std::size_t threads = checked_threads(function, threads_arg);
  const Arrays mats = word_arrays(function, "mats", mats_arg, 2);
  const Arrays vecs = word_arrays(function, "vecs", vecs_arg, 1);
  const WordArray out(function, "out", out_arg, 1, Access::write);
  require_same_length(function, "vecs", vecs.size(), mats.size());
  const std::size_t rows = mats[0].shape(0), cols = mats[0].elements(words);
  for (const WordArray& mat : mats) mat.require_shape(rows, cols * words);
  for (const WordArray& vec : vecs) vec.require_size((kTransposed ? rows : cols) * words);
  out.require_size((kTransposed ? cols : rows) * words);
  require_apart(out, mats, vecs);
  const Terms terms = terms_of(mats, vecs);
  nb::gil_scoped_release unlocked;
  (kTransposed ? matvec_t : matvec)(current_kernels(), terms, rows, cols, out.data(), words, threads);
}

template <bool kTransposed>
void py_matvec_pairs(nb::object mats_arg, nb::object vecs_arg, nb::object out_arg, int words_arg, int threads_arg) {
  const char* const function = kTransposed ? "matvec_t_pairs" : "matvec_pairs";
  const std::size_t words = checked_words(function, words_arg);
  const std::size_t threads = checked_threads(function, threads_arg);
  const Arrays mats = word_arrays(function, "mats", mats_arg, 2);
  const WordArray vecs(function, "vecs", vecs_arg, 2), out(function, "out", out_arg, 2, Access::write);
  const std::size_t rows = mats[0].shape(0), cols = mats[0].elements(words);
  const std::size_t from = kTransposed ? rows : cols, to = kTransposed ? cols : rows;
  for (const WordArray& mat : mats) mat.require_shape(rows, cols * words);
  vecs.require_shape(2 * mats.size(), from * words);
  out.require_shape(2 * mats.size(), to * words);
  for (const WordArray& mat : mats) out.require_apart_from(mat);
  out.require_apart_from(vecs);
  Terms terms;
  terms.count = mats.size();
  for (std::size_t t = 0; t < terms.count; ++t) {
    terms.left[t] = mats[t].data();
    terms.right[t] = vecs.data() + 2 * t * from * words;
  }
  nb::gil_scoped_release unlocked;
  matvec_pairs(current_kernels(), terms, kTransposed, rows, cols, out.data(), words, threads);
}

void py_matmul(nb::object lhs_arg, nb::object rhs_arg, nb::object out_arg, int words_arg, int threads_arg) {
  const std::size_t words = checked_words("matmul", words_arg);
  const std::size_t threads = checked_threads("matmul", threads_arg);
  const Arrays lhs = word_arrays("matmul", "lhs", lhs_arg, 2);
  const Arrays rhs = word_arrays("matmul", "rhs", rhs_arg, 2);
  const WordArray out("matmul", "out", out_arg, 2, Access::write);
  require_same_length("matmul", "rhs", rhs.size(), lhs.size());
  const std::size_t rows = lhs[0].shape(0), depth = lhs[0].elements(words), cols = rhs[0].elements(words);
  for (const WordArray& array : lhs) array.require_shape(rows, depth * words);
  for (const WordArray& array : rhs) array.require_shape(depth, cols * words);
  out.require_shape(rows, cols * words);
  require_apart(out, lhs, rhs);
  const Terms terms = terms_of(lhs, rhs);
  nb::gil_scoped_release unlocked;
  matmul(current_kernels(), terms, rows, depth, cols, out.data(), words, threads);
}

// A second operand: as long as the first, or one element that stands for all.
class Operand {
 public:
  Operand(const WordArray& array, std::size_t n, std::size_t words, const WordArray& out)
      : scalar(array.size() == words && n != 1), array_(array) {
    if (scalar) {  // out may hold the element itself
      for (std::size_t w = 0; w < words; ++w) copy_[w] = array.data()[w];
    } else {
      array.require_size(n * words);
      out.require_same_or_apart_from(array);
    }
  }
  const Word* data() const { return scalar ? copy_ : array_.data(); }
  const bool scalar;

 private:
  const WordArray& array_;
  Word copy_[2];
};

template <typename Table>
void binary(const char* function, Table table, nb::object a_arg, nb::object b_arg, nb::object out_arg,
            int words_arg) {
  const std::size_t words = checked_words(function, words_arg);
  const WordArray a(function, "a", a_arg, 1), b(function, "b", b_arg, 1);
  const WordArray out(function, "out", out_arg, 1, Access::write);
  const std::size_t n = a.elements(words);
  const Operand second(b, n, words, out);
  out.require_size(n * words);
  out.require_same_or_apart_from(a);
  nb::gil_scoped_release unlocked;
  table(current_kernels())[words - 1](a.data(), second.data(), second.scalar, n, out.data());
}

void py_mul_sum(nb::object lhs_arg, nb::object rhs_arg, nb::object out_arg, int words_arg) {
  const std::size_t words = checked_words("mul_sum", words_arg);
  const Arrays lhs = word_arrays("mul_sum", "lhs", lhs_arg, 1);
  const Arrays rhs = word_arrays("mul_sum", "rhs", rhs_arg, 1);
  const WordArray out("mul_sum", "out", out_arg, 1, Access::write);
  require_same_length("mul_sum", "rhs", rhs.size(), lhs.size());
  const std::size_t n = lhs[0].elements(words);
  out.require_size(n * words);
  Terms terms;
  bool scalar[kMaxTerms];
  std::vector<Operand> operands;
  operands.reserve(rhs.size());
  terms.count = lhs.size();
  for (std::size_t t = 0; t < terms.count; ++t) {
    lhs[t].require_size(n * words);
    out.require_same_or_apart_from(lhs[t]);
    operands.emplace_back(rhs[t], n, words, out);
    terms.left[t] = lhs[t].data();
    terms.right[t] = operands[t].data();
    scalar[t] = operands[t].scalar;
  }
  nb::gil_scoped_release unlocked;
  current_kernels().mul_sum[words - 1](terms.left, terms.right, scalar, terms.count, n, out.data());
}

void py_neg(nb::object a_arg, nb::object out_arg, int words_arg) {
  const std::size_t words = checked_words("neg", words_arg);
  const WordArray a("neg", "a", a_arg, 1), out("neg", "out", out_arg, 1, Access::write);
  const std::size_t n = a.elements(words);
  out.require_size(n * words);
  out.require_same_or_apart_from(a);
  nb::gil_scoped_release unlocked;
  current_kernels().neg[words - 1](a.data(), n, out.data());
}

template <typename Table>
void shift(const char* function, Table table, nb::object a_arg, long long bits, nb::object out_arg,
           int words_arg) {
  const std::size_t words = checked_words(function, words_arg);
  if (bits < 0 || bits >= static_cast<long long>(64 * words))
    refuse_value(function, "bits", "a number from 0 to " + std::to_string(64 * words - 1),
                 std::to_string(bits));
  const WordArray a(function, "a", a_arg, 1), out(function, "out", out_arg, 1, Access::write);
  const std::size_t n = a.elements(words);
  out.require_size(n * words);
  out.require_same_or_apart_from(a);
  nb::gil_scoped_release unlocked;
  table(current_kernels())[words - 1](a.data(), static_cast<unsigned>(bits), n, out.data());
}

void py_pack_bits(nb::object bits_arg, nb::object out_arg) {
  const ByteArray bits("pack_bits", "bits", bits_arg, 2);
  const WordArray out("pack_bits", "out", out_arg, 2, Access::write);
  const std::size_t rows = bits.shape(0), n = bits.shape(1);
  out.require_shape(rows, (n + 63) / 64);
  out.require_apart_from(bits);
  bool valid;
  {
    nb::gil_scoped_release unlocked;
    valid = current_kernels().pack_bits(bits.data(), rows, n, out.data());
  }
  if (!valid) refuse_value("pack_bits", "bits", "an array of zeros and ones", "another value");
}

void py_unpack_bits(nb::object packed_arg, nb::object out_arg) {
  const WordArray packed("unpack_bits", "words", packed_arg, 2);
  const ByteArray out("unpack_bits", "out", out_arg, 2, Access::write);
  const std::size_t rows = out.shape(0), n = out.shape(1);
  packed.require_shape(rows, (n + 63) / 64);
  out.require_apart_from(packed);
  nb::gil_scoped_release unlocked;
  current_kernels().unpack_bits(packed.data(), rows, n, out.data());
}

void py_to_planes(nb::object values_arg, nb::object out_arg, int words_arg) {
  const std::size_t words = checked_words("to_planes", words_arg);
  const WordArray values("to_planes", "values", values_arg, 1);
  const WordArray out("to_planes", "out", out_arg, 2, Access::write);
  const std::size_t n = values.elements(words);
  out.require_shape(64 * words, (n + 63) / 64);
  out.require_apart_from(values);
  nb::gil_scoped_release unlocked;
  current_kernels().to_planes[words - 1](values.data(), n, out.data());
}

void py_from_planes(nb::object planes_arg, nb::object out_arg, int words_arg) {
  const std::size_t words = checked_words("from_planes", words_arg);
  const WordArray planes("from_planes", "planes", planes_arg, 2);
  const WordArray out("from_planes", "out", out_arg, 1, Access::write);
  const std::size_t n = out.elements(words);
  planes.require_shape(64 * words, (n + 63) / 64);
  out.require_apart_from(planes);
  nb::gil_scoped_release unlocked;
  current_kernels().from_planes[words - 1](planes.data(), n, out.data());
}

void py_bit_forms(nb::object matrix_arg, nb::object left_arg, nb::object right_arg, nb::object out_arg,
                  long long begin, long long end) {
  const WordArray matrix("bit_forms", "matrix", matrix_arg, 2);
  const WordArray left("bit_forms", "left", left_arg, 2), right("bit_forms", "right", right_arg, 2);
  const WordArray out("bit_forms", "out", out_arg, 2, Access::write);
  const std::size_t forms = matrix.shape(0), lefts = matrix.shape(1), rights = right.shape(0), width = out.shape(1);
  if (rights > 64)
    refuse_value("bit_forms", "right", "an array of at most 64 rows", std::to_string(rights) + " rows");
  left.require_shape(lefts, width);
  right.require_shape(rights, width);
  out.require_shape(forms, width);
  for (const WordArray* input : {&matrix, &left, &right}) out.require_apart_from(*input);
  if (begin < 0 || begin > end || end > static_cast<long long>(width))
    refuse_value("bit_forms", "begin, end", "places of words from 0 to " + std::to_string(width),
                 std::to_string(begin) + ", " + std::to_string(end));
  nb::gil_scoped_release unlocked;
  current_kernels().bit_forms(matrix.data(), forms, left.data(), lefts, right.data(), rights, width,
                              static_cast<std::size_t>(begin), static_cast<std::size_t>(end), out.data());
}

nb::list py_available_isas() {
  nb::list names;
  for (const Kernels* kernels : available_kernels()) names.append(kernels->name);
  return names;
}

void py_set_isa(const std::string& name) {
  try {
    choose_kernels(name);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(error.what());
  }
}

void py_set_threads(int threads) {
  if (threads < 1 || threads > static_cast<int>(kMaxThreads))
    refuse_value("set_threads", "n", "a number from 1 to " + std::to_string(kMaxThreads),
                 std::to_string(threads));
  set_default_threads(static_cast<std::size_t>(threads));
}

template <typename Table>
void def_binary(nb::module_& m, const char* name, Table table) {
  m.def(
      name,
      [name, table](nb::object a, nb::object b, nb::object out, int words) {
        binary(name, table, a, b, out, words);
      },
      "a"_a.none(), "b"_a.none(), "out"_a.none(), "words"_a.noconvert());
}

template <typename Table>
void def_shift(nb::module_& m, const char* name, Table table) {
  m.def(
      name,
      [name, table](nb::object a, long long bits, nb::object out, int words) {
        shift(name, table, a, bits, out, words);
      },
      "a"_a.none(), "bits"_a.noconvert(), "out"_a.none(), "words"_a.noconvert());
}

}  // namespace
}  // namespace cofit

NB_MODULE(_native, m) {
  using namespace cofit;
  m.doc() = "Compiled kernels; see cofit.kernels.";
  try {
    configure_from_environment();
  } catch (const std::invalid_argument& error) {
    throw nb::import_error(error.what());
  }
  m.def("matvec", &py_matvec<false>, "mats"_a.none(), "vecs"_a.none(), "out"_a.none(), "words"_a.noconvert(),
        "threads"_a.noconvert() = 0);
  m.def("matvec_t", &py_matvec<true>, "mats"_a.none(), "vecs"_a.none(), "out"_a.none(), "words"_a.noconvert(),
        "threads"_a.noconvert() = 0);
  m.def("matvec_pairs", &py_matvec_pairs<false>, "mats"_a.none(), "vecs"_a.none(), "out"_a.none(),
        "words"_a.noconvert(), "threads"_a.noconvert() = 0);
  m.def("matvec_t_pairs", &py_matvec_pairs<true>, "mats"_a.none(), "vecs"_a.none(), "out"_a.none(),
        "words"_a.noconvert(), "threads"_a.noconvert() = 0);
  m.def("matmul", &py_matmul, "lhs"_a.none(), "rhs"_a.none(), "out"_a.none(), "words"_a.noconvert(), "threads"_a.noconvert() = 0);
  def_binary(m, "add", [](const Kernels& kernels) { return kernels.add; });
  def_binary(m, "sub", [](const Kernels& kernels) { return kernels.sub; });
  def_binary(m, "mul", [](const Kernels& kernels) { return kernels.mul; });
  m.def("mul_sum", &py_mul_sum, "lhs"_a.none(), "rhs"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("neg", &py_neg, "a"_a.none(), "out"_a.none(), "words"_a.noconvert());
  def_shift(m, "shl", [](const Kernels& kernels) { return kernels.shl; });
  def_shift(m, "shr", [](const Kernels& kernels) { return kernels.shr; });
  def_shift(m, "sar", [](const Kernels& kernels) { return kernels.sar; });
  m.def("pack_bits", &py_pack_bits, "bits"_a.none(), "out"_a.none());
  m.def("unpack_bits", &py_unpack_bits, "words"_a.none(), "out"_a.none());
  m.def("to_planes", &py_to_planes, "values"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("from_planes", &py_from_planes, "planes"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("bit_forms", &py_bit_forms, "matrix"_a.none(), "left"_a.none(), "right"_a.none(), "out"_a.none(),
        "begin"_a.noconvert(), "end"_a.noconvert());
  def_masked(m);
  def_narrow(m);
  def_clip(m);
  def_combine(m);
  def_proof_ring(m);
  def_proof_field(m);
  def_proof_gf(m);
  def_ot(m);
  def_rlwe(m);
  m.def("available_isas", &py_available_isas);
  m.def("isa", [] { return std::string(current_kernels().name); });
  m.def("set_isa", &py_set_isa, "name"_a);
  m.def("threads", &default_threads);
  m.def("set_threads", &py_set_threads, "n"_a.noconvert());
  m.def("keep_freed_memory", &keep_freed_memory, "kept"_a.noconvert());
}
