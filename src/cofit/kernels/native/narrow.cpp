#include "narrow.hpp"

#include "addends.hpp"
#include "arguments.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

constexpr std::size_t kMostParts = 2;

std::size_t checked_bytes(const char* function, long long bytes, std::size_t words) {
  const long long most = static_cast<long long>(8 * words);
  if (bytes < 1 || bytes > most)
    refuse_value(function, "bytes", "a number from 1 to " + std::to_string(most), std::to_string(bytes));
  return static_cast<std::size_t>(bytes);
}

unsigned checked_shift(const char* function, long long shift, std::size_t words) {
  const long long bits = static_cast<long long>(64 * words);
  if (shift <= 0 || shift > bits - 2)
    refuse_value(function, "shift", "a number from 1 to " + std::to_string(bits - 2), std::to_string(shift));
  return static_cast<unsigned>(shift);
}

std::size_t narrow_words(std::size_t n, std::size_t bytes) { return (n * bytes + 7) / 8; }
std::size_t high_words(std::size_t n, unsigned shift) { return narrow_words(n, (shift + 7) / 8); }

void py_narrow(nb::object values_arg, long long bytes_arg, nb::object fill_arg, nb::object out_arg, int words_arg) {
  const char* const function = "narrow";
  const std::size_t words = checked_words(function, words_arg), bytes = checked_bytes(function, bytes_arg, words);
  const WordArray values(function, "values", values_arg, kAnyShape), fill(function, "fill", fill_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = values.elements(words);
  for (const WordArray* array : {&fill, &out}) array->require_size(narrow_words(n, bytes));
  for (const WordArray* array : {&values, &fill}) out.require_apart_from(*array);
  nb::gil_scoped_release unlocked;
  current_kernels().narrow[words - 1](values.data(), bytes, fill.data(), n, out.data());
}

void py_widen(nb::object packed_arg, long long bytes_arg, nb::object out_arg, int words_arg) {
  const char* const function = "widen";
  const std::size_t words = checked_words(function, words_arg), bytes = checked_bytes(function, bytes_arg, words);
  const WordArray packed(function, "packed", packed_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  packed.require_size(narrow_words(n, bytes));
  out.require_apart_from(packed);
  nb::gil_scoped_release unlocked;
  current_kernels().widen[words - 1](packed.data(), bytes, n, out.data());
}

void py_mask_parts(nb::object r_0_arg, nb::object r_1_arg, nb::object share_arg, nb::object top_arg, long long shift_arg,
                   nb::object out_share_arg, nb::object out_top_arg, int words_arg) {
  const char* const function = "mask_parts";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray r_0(function, "r_0", r_0_arg, kAnyShape), r_1(function, "r_1", r_1_arg, kAnyShape);
  const WordArray share(function, "share", share_arg, kAnyShape), top(function, "top", top_arg, kAnyShape);
  const WordArray out_share(function, "out_share", out_share_arg, kAnyShape, Access::write);
  const WordArray out_top(function, "out_top", out_top_arg, kAnyShape, Access::write);
  const std::size_t n = r_0.elements(words);
  for (const WordArray* array : {&r_1, &share, &out_share}) array->require_size(n * words);
  for (const WordArray* array : {&top, &out_top}) array->require_size(high_words(n, shift));
  for (const WordArray* array : {&r_0, &r_1, &share, &top}) {
    out_share.require_apart_from(*array);
    out_top.require_apart_from(*array);
  }
  out_top.require_apart_from(out_share);
  nb::gil_scoped_release unlocked;
  current_kernels().mask_parts[words - 1](r_0.data(), r_1.data(), share.data(), top.data(), shift, n, out_share.data(),
                                          out_top.data());
}

void py_open_masked(nb::object opened_arg, nb::object top_arg, nb::object hidden_arg, long long shift_arg,
                    nb::object out_arg, nb::object out_high_arg, int words_arg) {
  const char* const function = "open_masked";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const WordArray out_high(function, "out_high", out_high_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  const Arrays opened = addends_of(function, "opened", opened_arg, out);
  const WordArray top(function, "top", top_arg, kAnyShape), hidden(function, "hidden", hidden_arg, kAnyShape);
  for (const WordArray* array : {&top, &hidden, &out_high}) array->require_size(high_words(n, shift));
  for (const WordArray* array : {&top, &hidden}) {
    out.require_apart_from(*array);
    out_high.require_apart_from(*array);
  }
  for (const WordArray& array : opened) out_high.require_apart_from(array);
  out_high.require_apart_from(out);
  const Addends addends = pointers(opened, Arrays());
  nb::gil_scoped_release unlocked;
  current_kernels().open_masked[words - 1](addends, top.data(), hidden.data(), shift, n, out.data(), out_high.data());
}

void py_add_high(nb::object values_arg, nb::object parts_arg, long long shift_arg, nb::object out_arg, int words_arg) {
  const char* const function = "add_high";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray values(function, "values", values_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  values.require_size(n * words);
  out.require_same_or_apart_from(values);
  const Arrays parts = word_arrays(function, "parts", parts_arg, kAnyShape, kMostParts);
  const Word* pointers[kMostParts] = {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].require_size(high_words(n, shift));
    out.require_apart_from(parts[i]);
    pointers[i] = parts[i].data();
  }
  nb::gil_scoped_release unlocked;
  current_kernels().add_high[words - 1](values.data(), pointers, parts.size(), shift, n, out.data());
}

}  // namespace

void def_narrow(nb::module_& m) {
  m.def("narrow", &py_narrow, "values"_a.none(), "bytes"_a.noconvert(), "fill"_a.none(), "out"_a.none(),
        "words"_a.noconvert());
  m.def("widen", &py_widen, "packed"_a.none(), "bytes"_a.noconvert(), "out"_a.none(), "words"_a.noconvert());
  m.def("mask_parts", &py_mask_parts, "r_0"_a.none(), "r_1"_a.none(), "share"_a.none(), "top"_a.none(),
        "shift"_a.noconvert(), "out_share"_a.none(), "out_top"_a.none(), "words"_a.noconvert());
  m.def("open_masked", &py_open_masked, "opened"_a.none(), "top"_a.none(), "hidden"_a.none(), "shift"_a.noconvert(),
        "out"_a.none(), "out_high"_a.none(), "words"_a.noconvert());
  m.def("add_high", &py_add_high, "values"_a.none(), "parts"_a.none(), "shift"_a.noconvert(), "out"_a.none(),
        "words"_a.noconvert());
}

}  // namespace cofit
