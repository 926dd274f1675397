#include "masked.hpp"

#include "addends.hpp"
#include "arguments.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

void py_signed_sum(nb::object plus_arg, nb::object minus_arg, nb::object out_arg, int words_arg) {
  const char* const function = "signed_sum";
  const std::size_t kind = kind_of(function, words_arg);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words_of(kind));
  const Arrays plus = addends_of(function, "plus", plus_arg, out), minus = addends_of(function, "minus", minus_arg, out);
  const Addends addends = pointers(plus, minus);
  nb::gil_scoped_release unlocked;
  current_kernels().signed_sum[kind](addends, n, out.data());
}

void py_cross_product(nb::object a_arg, nb::object b_arg, nb::object plus_arg, nb::object minus_arg, nb::object out_arg,
                      int words_arg) {
  const char* const function = "cross_product";
  const std::size_t kind = kind_of(function, words_arg);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words_of(kind));
  const Arrays a = addends_of(function, "a", a_arg, out), b = addends_of(function, "b", b_arg, out);
  require_same_length(function, "a", a.size(), 2);
  require_same_length(function, "b", b.size(), 2);
  const Arrays plus = addends_of(function, "plus", plus_arg, out), minus = addends_of(function, "minus", minus_arg, out);
  const Addends addends = pointers(plus, minus);
  const Word* const left[2] = {a[0].data(), a[1].data()};
  const Word* const right[2] = {b[0].data(), b[1].data()};
  nb::gil_scoped_release unlocked;
  current_kernels().cross_product[kind](left, right, addends, n, out.data());
}

void py_squared_distances(nb::object a_arg, nb::object row_arg, nb::object plus_arg, nb::object minus_arg,
                          nb::object out_arg, int words_arg) {
  const char* const function = "squared_distances";
  const std::size_t words = checked_words(function, words_arg);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  const Arrays a = addends_of(function, "a", a_arg, out);
  require_same_length(function, "a", a.size(), 2);
  const Arrays row = word_arrays(function, "row", row_arg, kAnyShape, kMaxArrays);
  require_same_length(function, "row", row.size(), 2);
  const std::size_t cols = row[0].elements(words);
  for (const WordArray& part : row) {
    part.require_size(cols * words);
    out.require_apart_from(part);
  }
  if (cols == 0 ? n != 0 : n % cols != 0)
    refuse_value(function, "out", "whole rows of " + std::to_string(cols) + " elements", std::to_string(n) + " elements");
  const Arrays plus = addends_of(function, "plus", plus_arg, out), minus = addends_of(function, "minus", minus_arg, out);
  const Addends addends = pointers(plus, minus);
  const Word* const parts[2] = {a[0].data(), a[1].data()};
  const Word* const rows[2] = {row[0].data(), row[1].data()};
  nb::gil_scoped_release unlocked;
  current_kernels().squared_distances[words - 1](parts, rows, cols, addends, n, out.data());
}

void py_signed_by_bits(nb::object bits_arg, nb::object a_arg, bool adds_bits, nb::object minus_arg, nb::object out_arg,
                       int words_arg) {
  const char* const function = "signed_by_bits";
  const std::size_t words = checked_words(function, words_arg);
  const WordArray bits(function, "bits", bits_arg, 2);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t rows = out.shape(0), cols = out.elements(words);
  bits.require_shape(rows, (cols + 63) / 64);
  const Arrays a = addends_of(function, "a", a_arg, out), minus = addends_of(function, "minus", minus_arg, out);
  if (a.size() > 1) require_same_length(function, "a", a.size(), 1);
  if (minus.size() > 1 || a.empty()) require_same_length(function, "minus", minus.size(), 1);
  out.require_apart_from(bits);
  nb::gil_scoped_release unlocked;
  current_kernels().signed_by_bits[words - 1](bits.data(), a.empty() ? nullptr : a[0].data(), adds_bits,
                                              minus.empty() ? nullptr : minus[0].data(), rows, cols, out.data());
}

unsigned checked_shift(const char* function, long long shift, std::size_t words) {
  const long long bits = static_cast<long long>(64 * words);
  if (shift <= 0 || shift > bits - 2)
    refuse_value(function, "shift", "a number from 1 to " + std::to_string(bits - 2), std::to_string(shift));
  return static_cast<unsigned>(shift);
}

void py_unmask(nb::object opened_arg, nb::object share_arg, nb::object top_arg, nb::object mask_arg, long long shift_arg,
               bool adds_opened, nb::object out_arg, int words_arg) {
  const char* const function = "unmask";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  const Arrays opened = addends_of(function, "opened", opened_arg, out);
  const WordArray share(function, "share", share_arg, kAnyShape), top(function, "top", top_arg, kAnyShape);
  const WordArray mask(function, "out_mask", mask_arg, kAnyShape);
  for (const WordArray* array : {&share, &top, &mask}) {
    array->require_size(n * words);
    out.require_same_or_apart_from(*array);
  }
  const Addends addends = pointers(opened, Arrays());
  nb::gil_scoped_release unlocked;
  current_kernels().unmask[words - 1](addends, share.data(), top.data(), mask.data(), shift, adds_opened, n, out.data());
}

}  // namespace

void def_masked(nb::module_& m) {
  m.def("signed_sum", &py_signed_sum, "plus"_a.none(), "minus"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("cross_product", &py_cross_product, "a"_a.none(), "b"_a.none(), "plus"_a.none(), "minus"_a.none(),
        "out"_a.none(), "words"_a.noconvert());
  m.def("squared_distances", &py_squared_distances, "a"_a.none(), "row"_a.none(), "plus"_a.none(), "minus"_a.none(),
        "out"_a.none(), "words"_a.noconvert());
  m.def("signed_by_bits", &py_signed_by_bits, "bits"_a.none(), "a"_a.none(), "adds_bits"_a.noconvert(),
        "minus"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("unmask", &py_unmask, "opened"_a.none(), "share"_a.none(), "top"_a.none(), "out_mask"_a.none(),
        "shift"_a.noconvert(), "adds_opened"_a.noconvert(), "out"_a.none(), "words"_a.noconvert());
}

}  // namespace cofit
