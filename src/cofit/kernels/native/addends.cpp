#include "addends.hpp"

namespace nb = nanobind;

namespace cofit {

std::size_t kind_of(const char* function, int words) {
  if (words < 0 || words > 2)
    refuse_value(function, "words", "1 (Z_2^64), 2 (Z_2^128) or 0 (bits of GF(2))", std::to_string(words));
  return words == 0 ? kBitsIndex : static_cast<std::size_t>(words) - 1;
}

Arrays addends_of(const char* function, const char* name, nb::handle list, const WordArray& out) {
  Arrays arrays;
  if (nb::isinstance<nb::list>(list) && nb::len(list) == 0) return arrays;
  arrays = word_arrays(function, name, list, kAnyShape, kMaxArrays);
  for (const WordArray& array : arrays) {
    array.require_size(out.size());
    out.require_same_or_apart_from(array);
  }
  return arrays;
}

Addends pointers(const Arrays& plus, const Arrays& minus) {
  Addends addends;
  for (const WordArray& array : plus) addends.plus[addends.plus_count++] = array.data();
  for (const WordArray& array : minus) addends.minus[addends.minus_count++] = array.data();
  return addends;
}

}  // namespace cofit
