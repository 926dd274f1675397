// Oblivious transfer with VAES and AVX-512.
#define COFIT_ISA ot_vaes
#define COFIT_OT_TABLE kVaesOtKernels
#include <immintrin.h>

#include "ot_kernels.hpp"
#include "wide.inc"

namespace cofit {
namespace COFIT_ISA {

constexpr size_t kLanes = 4, kKeysAtOnce = 4;  // blocks of AES in a Block; keys with which leaves are expanded together
using Block = __m512i;

COFIT_INLINE Block load(const void* p) { return _mm512_loadu_si512(p); }
COFIT_INLINE void store(void* p, Block v) { _mm512_storeu_si512(p, v); }
COFIT_INLINE __m128i load_one(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
COFIT_INLINE Block load_for_all(const void* p) { return _mm512_broadcast_i32x4(load_one(p)); }
COFIT_INLINE Block add(Block a, Block b) { return _mm512_xor_si512(a, b); }
COFIT_INLINE Block both(Block a, Block b) { return _mm512_and_si512(a, b); }
COFIT_INLINE Block all_words(Word w) { return _mm512_set1_epi64(static_cast<long long>(w)); }
COFIT_INLINE Block middle_round(Block v, Block key) { return _mm512_aesenc_epi128(v, key); }
COFIT_INLINE Block last_round(Block v, Block key) { return _mm512_aesenclast_epi128(v, key); }

// first, first + 1 ... in the blocks of a Block.
COFIT_INLINE Block numbers(Wide first) {
  const __m128i low = _mm_set_epi64x(static_cast<long long>(first >> 64), static_cast<long long>(first));
  const Block steps = _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0);
  const Block sums = _mm512_add_epi64(_mm512_broadcast_i32x4(low), steps);
  const __mmask8 wrapped = _mm512_mask_cmplt_epu64_mask(0x55, sums, steps);  // in low words
  return _mm512_mask_add_epi64(sums, static_cast<__mmask8>(wrapped << 1), sums, _mm512_set1_epi64(1));
}

constexpr size_t kWordLanes = 8;  // words in a Vec, in which each is a matrix of its own for a transposition
typedef Word Vec __attribute__((vector_size(8 * kWordLanes)));

COFIT_INLINE void store_one(Word* p, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
COFIT_INLINE void store_pairs(Vec low, Vec high, Word* out, size_t stride) {
  const __m512i even = _mm512_unpacklo_epi64((__m512i)low, (__m512i)high);
  const __m512i odd = _mm512_unpackhi_epi64((__m512i)low, (__m512i)high);
  store_one(out, _mm512_castsi512_si128(even));
  store_one(out + stride, _mm512_castsi512_si128(odd));
  store_one(out + 2 * stride, _mm512_extracti64x2_epi64(even, 1));
  store_one(out + 3 * stride, _mm512_extracti64x2_epi64(odd, 1));
  store_one(out + 4 * stride, _mm512_extracti64x2_epi64(even, 2));
  store_one(out + 5 * stride, _mm512_extracti64x2_epi64(odd, 2));
  store_one(out + 6 * stride, _mm512_extracti64x2_epi64(even, 3));
  store_one(out + 7 * stride, _mm512_extracti64x2_epi64(odd, 3));
}
COFIT_INLINE __m512i load_four(const Word* in, size_t stride) {
  __m512i four = _mm512_castsi128_si512(load_one(in));
  four = _mm512_inserti64x2(four, load_one(in + stride), 1);
  four = _mm512_inserti64x2(four, load_one(in + 2 * stride), 2);
  return _mm512_inserti64x2(four, load_one(in + 3 * stride), 3);
}
COFIT_INLINE void load_pairs(const Word* in, size_t stride, Vec& low, Vec& high) {
  const __m512i even = load_four(in, 2 * stride), odd = load_four(in + stride, 2 * stride);
  low = (Vec)_mm512_unpacklo_epi64(even, odd);
  high = (Vec)_mm512_unpackhi_epi64(even, odd);
}

}  // namespace COFIT_ISA
}  // namespace cofit

#include "ot_transpose.inc"
#include "ot_extend.inc"
#include "ot_hash.inc"
#include "ot_table.inc"
