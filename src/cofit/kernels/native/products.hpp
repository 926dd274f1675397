// Matrix products split over threads. Sizes and overlap were checked by the caller.
#pragma once

#include <cstddef>

#include "kernels.hpp"

namespace cofit {

struct Terms {
  const Word* left[kMaxTerms];
  const Word* right[kMaxTerms];
  std::size_t count = 0;
};

// words is 1 or 2; threads is at least 1 and an upper bound: small products stay on the calling thread.
void matvec(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t cols, Word* out,
            std::size_t words, std::size_t threads);
void matvec_t(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t cols, Word* out,
              std::size_t words, std::size_t threads);
void matmul(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t depth, std::size_t cols,
            Word* out, std::size_t words, std::size_t threads);

}  // namespace cofit
