// Arguments of the kernels that add up lists of arrays, and work on words or on bits.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "arguments.hpp"
#include "kernels.hpp"

namespace cofit {

using Arrays = std::vector<WordArray>;

// The index of a table of three: 0 words stand for bits of GF(2), 64 in a word.
std::size_t kind_of(const char* function, int words);
inline std::size_t words_of(std::size_t kind) { return kind == 1 ? 2 : 1; }

// The arrays of a list that may be empty, all as long as out, each out itself or apart from it.
Arrays addends_of(const char* function, const char* name, nanobind::handle list, const WordArray& out);

Addends pointers(const Arrays& plus, const Arrays& minus);

}  // namespace cofit
