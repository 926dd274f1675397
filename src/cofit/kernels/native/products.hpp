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
// Each matrix terms.left[t] by the two vectors at terms.right[t]; the results of matrix t are rows 2 t and 2 t + 1 of out.
void matvec_pairs(const Kernels& kernels, const Terms& terms, bool transposed, std::size_t rows, std::size_t cols,
                  Word* out, std::size_t words, std::size_t threads);
void matmul(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t depth, std::size_t cols,
            Word* out, std::size_t words, std::size_t threads);

}  // namespace cofit
