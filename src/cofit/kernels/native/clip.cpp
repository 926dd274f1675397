#include "clip.hpp"

#include "arguments.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

constexpr std::size_t kGroup = 4, kTable = 15;

std::size_t groups_of(const char* function, const char* name, const WordArray& tables) {
  const std::size_t rows = tables.shape(0);
  if (rows == 0 || rows % kTable != 0)
    refuse_value(function, name, "rows of 15 entries, for one group or more", std::to_string(rows) + " rows");
  return rows / kTable;
}

void py_carry_tables(nb::object planes_arg, nb::object out_arg) {
  const char* const function = "carry_tables";
  const WordArray planes(function, "planes", planes_arg, 2), out(function, "out", out_arg, 2, Access::write);
  const std::size_t groups = groups_of(function, "out", out), words = out.shape(1);
  planes.require_shape(kGroup * groups, words);
  out.require_apart_from(planes);
  nb::gil_scoped_release unlocked;
  current_kernels().carry_tables(planes.data(), groups, words, out.data());
}

void py_carry_signals(nb::object table_arg, nb::object planes_arg, bool constant, nb::object out_arg) {
  const char* const function = "carry_signals";
  const WordArray table(function, "table", table_arg, 2), planes(function, "planes", planes_arg, 2);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t groups = groups_of(function, "table", table), words = table.shape(1);
  const std::size_t numbers = planes.shape(0) / (kGroup * groups);
  planes.require_shape(numbers * kGroup * groups, words);
  out.require_shape((2 * groups - 1) * numbers, words);
  out.require_apart_from(table);
  out.require_apart_from(planes);
  nb::gil_scoped_release unlocked;
  current_kernels().carry_signals(table.data(), planes.data(), constant, groups, numbers, words, out.data());
}

unsigned checked_shift(const char* function, long long shift, std::size_t words) {
  const long long bits = static_cast<long long>(64 * words);
  if (shift < 0 || shift > bits - 2)
    refuse_value(function, "shift", "a number from 0 to " + std::to_string(bits - 2), std::to_string(shift));
  return static_cast<unsigned>(shift);
}

constexpr std::size_t kMostRows = 6;

// The rows that are dealt, or drawn to hide them, all of n elements and apart from what is written.
std::vector<WordArray> rows_of(const char* function, const char* name, nb::handle list, unsigned shift, std::size_t size,
                               const WordArray& out, const Word** pointers) {
  std::vector<WordArray> rows = word_arrays(function, name, list, kAnyShape, kMostRows);
  require_same_length(function, name, rows.size(), shift == 0 ? kMostRows - 2 : kMostRows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].require_size(size);
    out.require_apart_from(rows[i]);
    pointers[i] = rows[i].data();
  }
  return rows;
}

// Rows of bits, packed, for n elements; apart from what is written.
void require_bits(const WordArray& bits, std::size_t n, const WordArray& out) {
  bits.require_size((n + 63) / 64);
  out.require_apart_from(bits);
}

void py_clip_deal(nb::object mask_arg, nb::object inside_arg, nb::object below_arg, nb::object hidden_arg,
                  long long shift_arg, nb::object out_arg, int words_arg) {
  const char* const function = "clip_deal";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray mask(function, "mask", mask_arg, kAnyShape), inside(function, "inside", inside_arg, kAnyShape);
  const WordArray below(function, "below", below_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = mask.elements(words);
  const Word* less[kMostRows];
  const std::vector<WordArray> hidden = rows_of(function, "hidden", hidden_arg, shift, n * words, out, less);
  out.require_size(hidden.size() * n * words);
  require_bits(inside, n, out);
  require_bits(below, n, out);
  out.require_apart_from(mask);
  nb::gil_scoped_release unlocked;
  current_kernels().clip_deal[words - 1](mask.data(), inside.data(), below.data(), less, shift, n, out.data());
}

void py_clip_products(nb::object opened_arg, nb::object inside_arg, nb::object below_arg, nb::object dealt_arg,
                      nb::object mask_arg, nb::object ends_arg, long long shift_arg, bool first, nb::object out_arg,
                      int words_arg) {
  const char* const function = "clip_products";
  const std::size_t words = checked_words(function, words_arg);
  const unsigned shift = checked_shift(function, shift_arg, words);
  const WordArray opened(function, "opened", opened_arg, kAnyShape), inside(function, "inside", inside_arg, kAnyShape);
  const WordArray below(function, "below", below_arg, kAnyShape);
  const WordArray mask(function, "out_mask", mask_arg, kAnyShape), ends(function, "ends", ends_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  opened.require_size(n * words);
  mask.require_size(n * words);
  ends.require_size(2 * words);
  const Word* parts[kMostRows];
  const std::vector<WordArray> dealt = rows_of(function, "dealt", dealt_arg, shift, n * words, out, parts);
  require_bits(inside, n, out);
  require_bits(below, n, out);
  for (const WordArray* array : {&opened, &mask, &ends}) out.require_apart_from(*array);
  nb::gil_scoped_release unlocked;
  current_kernels().clip_products[words - 1](opened.data(), inside.data(), below.data(), parts, mask.data(),
                                             ends.data(), shift, first, n, out.data());
}

}  // namespace

void def_clip(nb::module_& m) {
  m.def("carry_tables", &py_carry_tables, "planes"_a.none(), "out"_a.none());
  m.def("carry_signals", &py_carry_signals, "table"_a.none(), "planes"_a.none(), "constant"_a.noconvert(),
        "out"_a.none());
  m.def("clip_deal", &py_clip_deal, "mask"_a.none(), "inside"_a.none(), "below"_a.none(), "hidden"_a.none(),
        "shift"_a.noconvert(), "out"_a.none(), "words"_a.noconvert());
  m.def("clip_products", &py_clip_products, "opened"_a.none(), "inside"_a.none(), "below"_a.none(), "dealt"_a.none(),
        "out_mask"_a.none(), "ends"_a.none(), "shift"_a.noconvert(), "first"_a.noconvert(), "out"_a.none(),
        "words"_a.noconvert());
}

}  // namespace cofit
