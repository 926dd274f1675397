// The coefficients of linear combinations, sorted for the kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace cofit {

// coefficients: a row of `inputs` elements for each result. kind: words - 1, or kBitsIndex. At most kMaxArrays each way.
class SortedCombination {
 public:
  SortedCombination(const Word* coefficients, std::size_t inputs, std::size_t outs, std::size_t kind);
  const Combination& view() const { return view_; }

 private:
  std::vector<ScaledInput> terms_;
  Combination view_;
};

}  // namespace cofit
