// Oblivious transfer with AES-NI and AVX2.
#define COFIT_ISA ot_aesni
#define COFIT_OT_TABLE kAesniOtKernels
#include <immintrin.h>

#include "ot_kernels.hpp"
#include "wide.inc"

namespace cofit {
namespace COFIT_ISA {

constexpr size_t kLanes = 1, kKeysAtOnce = 1;  // blocks of AES in a Block; keys with which leaves are expanded together
using Block = __m128i;

COFIT_INLINE Block load(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
COFIT_INLINE void store(void* p, Block v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
COFIT_INLINE Block load_for_all(const void* p) { return load(p); }
COFIT_INLINE Block add(Block a, Block b) { return _mm_xor_si128(a, b); }
COFIT_INLINE Block both(Block a, Block b) { return _mm_and_si128(a, b); }
COFIT_INLINE Block all_words(Word w) { return _mm_set1_epi64x(static_cast<long long>(w)); }
COFIT_INLINE Block middle_round(Block v, Block key) { return _mm_aesenc_si128(v, key); }
COFIT_INLINE Block last_round(Block v, Block key) { return _mm_aesenclast_si128(v, key); }

// first, first + 1 ... in the blocks of a Block.
COFIT_INLINE Block numbers(Wide first) {
  return _mm_set_epi64x(static_cast<long long>(first >> 64), static_cast<long long>(first));
}

constexpr size_t kWordLanes = 4;  // words in a Vec, in which each is a matrix of its own for a transposition
typedef Word Vec __attribute__((vector_size(8 * kWordLanes)));

COFIT_INLINE void store_pairs(Vec low, Vec high, Word* out, size_t stride) {
  const __m256i even = _mm256_unpacklo_epi64((__m256i)low, (__m256i)high);
  const __m256i odd = _mm256_unpackhi_epi64((__m256i)low, (__m256i)high);
  store(out, _mm256_castsi256_si128(even));
  store(out + stride, _mm256_castsi256_si128(odd));
  store(out + 2 * stride, _mm256_extracti128_si256(even, 1));
  store(out + 3 * stride, _mm256_extracti128_si256(odd, 1));
}
COFIT_INLINE void load_pairs(const Word* in, size_t stride, Vec& low, Vec& high) {
  const __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(load(in)), load(in + 2 * stride), 1);
  const __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(load(in + stride)), load(in + 3 * stride), 1);
  low = (Vec)_mm256_unpacklo_epi64(even, odd);
  high = (Vec)_mm256_unpackhi_epi64(even, odd);
}

}  // namespace COFIT_ISA
}  // namespace cofit

#include "ot_transpose.inc"
#include "ot_extend.inc"
#include "ot_hash.inc"
#include "ot_table.inc"
