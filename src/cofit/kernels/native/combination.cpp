#include "combination.hpp"

namespace cofit {

SortedCombination::SortedCombination(const Word* coefficients, std::size_t inputs, std::size_t outs, std::size_t kind)
    : terms_(inputs * outs) {
  const bool bits = kind == kBitsIndex;
  const std::size_t words = kind == 1 ? 2 : 1;
  const Word ones = ~Word{0};
  ScaledInput times[kMaxArrays];
  std::size_t minus[kMaxArrays];
  view_.inputs = inputs;
  view_.outs = outs;
  ScaledInput* next = terms_.data();
  for (std::size_t c = 0; c < outs; ++c) {
    std::size_t minus_count = 0, times_count = 0;
    CombinationRow& row = view_.rows[c];
    row.plus = next;
    for (std::size_t a = 0; a < inputs; ++a, coefficients += words) {
      const Word low = coefficients[0], high = words == 2 ? coefficients[1] : 0;
      if (low == 0 && high == 0) continue;
      if (bits ? low == ones : low == 1 && high == 0)
        *next++ = {low, high, a};
      else if (!bits && low == ones && (words == 1 || high == ones))
        minus[minus_count++] = a;
      else
        times[times_count++] = {low, high, a};
    }
    row.minus = next;
    for (std::size_t t = 0; t < minus_count; ++t) *next++ = {ones, ones, minus[t]};
    row.times = next;
    for (std::size_t t = 0; t < times_count; ++t) *next++ = times[t];
    row.end = next;
  }
}

}  // namespace cofit
