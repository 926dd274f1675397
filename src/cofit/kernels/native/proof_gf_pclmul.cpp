// GF(2^64) with PCLMULQDQ and AVX2.
#define COFIT_ISA gf_pclmul
#define COFIT_GF_TABLE kPclmulGfKernels
#include <immintrin.h>

#include "kernels.hpp"
#include "wide.inc"

namespace cofit {
namespace COFIT_ISA {

constexpr size_t kGfLanes = 2, kGridWords = 4;
using GfVec = __m128i;
using GfAcc = __m128i;

COFIT_INLINE GfVec gf_load(const Word* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
COFIT_INLINE void gf_store(Word* p, GfVec v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
COFIT_INLINE GfVec gf_load_some(const Word* p, size_t) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
COFIT_INLINE void gf_store_some(Word* p, GfVec v, size_t) { _mm_storel_epi64(reinterpret_cast<__m128i*>(p), v); }
COFIT_INLINE GfVec gf_all(Word w) { return _mm_set1_epi64x(static_cast<long long>(w)); }
COFIT_INLINE GfVec gf_add(GfVec a, GfVec b) { return _mm_xor_si128(a, b); }
COFIT_INLINE GfVec gf_reduced(GfVec low, GfVec high) {
  const GfVec over = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(high, 63), _mm_srli_epi64(high, 61)), _mm_srli_epi64(high, 60));
  const GfVec h = _mm_xor_si128(high, over);
  const GfVec a = _mm_xor_si128(_mm_xor_si128(low, h), _mm_slli_epi64(h, 1));
  return _mm_xor_si128(a, _mm_xor_si128(_mm_slli_epi64(h, 3), _mm_slli_epi64(h, 4)));
}
COFIT_INLINE GfVec gf_times(GfVec a, GfVec b) {
  const __m128i even = _mm_clmulepi64_si128(a, b, 0x00), odd = _mm_clmulepi64_si128(a, b, 0x11);
  return gf_reduced(_mm_unpacklo_epi64(even, odd), _mm_unpackhi_epi64(even, odd));
}
COFIT_INLINE GfAcc gf_zero() { return _mm_setzero_si128(); }
COFIT_INLINE void gf_add_product(GfAcc& acc, GfVec a, GfVec b) {
  acc = _mm_xor_si128(acc, _mm_xor_si128(_mm_clmulepi64_si128(a, b, 0x00), _mm_clmulepi64_si128(a, b, 0x11)));
}
COFIT_INLINE Word gf_total(GfAcc acc) {
  return static_cast<Word>(_mm_cvtsi128_si64(gf_reduced(acc, _mm_unpackhi_epi64(acc, acc))));
}

}  // namespace COFIT_ISA
}  // namespace cofit

#define COFIT_GF_BY_TABLES 0
#include "proof_gf.inc"
#include "proof_bits_tables.inc"
#include "proof_bits.inc"
#include "proof_gf_table.inc"
