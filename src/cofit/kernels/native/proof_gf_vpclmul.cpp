// GF(2^64) with VPCLMULQDQ, GFNI and AVX-512.
#define COFIT_ISA gf_vpclmul
#define COFIT_GF_TABLE kVpclmulGfKernels
#include <immintrin.h>

#include "kernels.hpp"
#include "wide.inc"

namespace cofit {
namespace COFIT_ISA {

constexpr size_t kGfLanes = 8, kGridWords = 8;
using GfVec = __m512i;
using GfAcc = __m512i;

constexpr int kXor3 = 0x96;  // of _mm512_ternarylogic_epi64

COFIT_INLINE GfVec gf_load(const Word* p) { return _mm512_loadu_si512(p); }
COFIT_INLINE void gf_store(Word* p, GfVec v) { _mm512_storeu_si512(p, v); }
COFIT_INLINE __mmask8 first_lanes(size_t count) { return static_cast<__mmask8>((1u << count) - 1); }
COFIT_INLINE GfVec gf_load_some(const Word* p, size_t count) { return _mm512_maskz_loadu_epi64(first_lanes(count), p); }
COFIT_INLINE void gf_store_some(Word* p, GfVec v, size_t count) { _mm512_mask_storeu_epi64(p, first_lanes(count), v); }
COFIT_INLINE GfVec gf_all(Word w) { return _mm512_set1_epi64(static_cast<long long>(w)); }
COFIT_INLINE GfVec gf_add(GfVec a, GfVec b) { return _mm512_xor_si512(a, b); }
COFIT_INLINE GfVec gf_add3(GfVec a, GfVec b, GfVec c) { return _mm512_ternarylogic_epi64(a, b, c, kXor3); }
COFIT_INLINE GfVec gf_reduced(GfVec low, GfVec high) {
  const GfVec over = gf_add3(_mm512_srli_epi64(high, 63), _mm512_srli_epi64(high, 61), _mm512_srli_epi64(high, 60));
  const GfVec h = gf_add(high, over);
  return gf_add3(gf_add3(low, h, _mm512_slli_epi64(h, 1)), _mm512_slli_epi64(h, 3), _mm512_slli_epi64(h, 4));
}
COFIT_INLINE GfVec gf_times(GfVec a, GfVec b) {
  const __m512i even = _mm512_clmulepi64_epi128(a, b, 0x00), odd = _mm512_clmulepi64_epi128(a, b, 0x11);
  return gf_reduced(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
}
COFIT_INLINE GfAcc gf_zero() { return _mm512_setzero_si512(); }
COFIT_INLINE void gf_add_product(GfAcc& acc, GfVec a, GfVec b) {
  acc = gf_add3(acc, _mm512_clmulepi64_epi128(a, b, 0x00), _mm512_clmulepi64_epi128(a, b, 0x11));
}
COFIT_INLINE Word gf_total(GfAcc acc) {
  Word lanes[8];
  gf_store(lanes, acc);
  const Word low = lanes[0] ^ lanes[2] ^ lanes[4] ^ lanes[6], high = lanes[1] ^ lanes[3] ^ lanes[5] ^ lanes[7];
  gf_store(lanes, gf_reduced(gf_all(low), gf_all(high)));
  return lanes[0];
}

}  // namespace COFIT_ISA
}  // namespace cofit

#define COFIT_GF_BY_TABLES 0
#include "proof_gf.inc"
#include "proof_bits_affine.inc"
#include "proof_bits.inc"
#include "proof_gf_table.inc"
