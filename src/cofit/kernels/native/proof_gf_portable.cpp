// GF(2^64) for every CPU: carry-less products by integer products with holes between bits.
#define COFIT_ISA gf_portable
#define COFIT_GF_TABLE kPortableGfKernels
#include "kernels.hpp"
#include "wide.inc"

namespace cofit {
namespace COFIT_ISA {

constexpr size_t kGfLanes = 1, kGridWords = 2;
using GfVec = Word;
struct GfAcc {
  Word low, high;
};

// Every fourth bit of a factor at a time, so that the addends that meet in a place need four bits: at most 15 of them, as
// the upper four bits of a are multiplied apart.
COFIT_INLINE GfAcc carryless(Word a, Word b) {
  constexpr Word kFourth = 0x1111111111111111u;
  GfAcc product{0, 0};
  for (unsigned c = 0; c < 4; ++c) {
    Wide sum = 0;
    for (unsigned i = 0; i < 4; ++i)
      sum ^= static_cast<Wide>(a << 4 >> 4 & kFourth << i) * (b & kFourth << ((c - i) % 4));
    product.low |= static_cast<Word>(sum) & kFourth << c;
    product.high |= static_cast<Word>(sum >> 64) & kFourth << c;
  }
  for (unsigned i = 60; i < 64; ++i) {
    const Word chosen = b & (0 - (a >> i & 1));
    product.low ^= chosen << i;
    product.high ^= chosen >> (64 - i);
  }
  return product;
}

COFIT_INLINE Word gf_reduced(Word low, Word high) {
  high ^= high >> 63 ^ high >> 61 ^ high >> 60;
  return low ^ high ^ high << 1 ^ high << 3 ^ high << 4;
}

COFIT_INLINE GfVec gf_load(const Word* p) { return *p; }
COFIT_INLINE void gf_store(Word* p, GfVec v) { *p = v; }
COFIT_INLINE GfVec gf_load_some(const Word*, size_t) { return 0; }
COFIT_INLINE void gf_store_some(Word*, GfVec, size_t) {}
COFIT_INLINE GfVec gf_all(Word w) { return w; }
COFIT_INLINE GfVec gf_add(GfVec a, GfVec b) { return a ^ b; }
COFIT_INLINE GfVec gf_times(GfVec a, GfVec b) {
  const GfAcc product = carryless(a, b);
  return gf_reduced(product.low, product.high);
}
COFIT_INLINE GfAcc gf_zero() { return {0, 0}; }
COFIT_INLINE void gf_add_product(GfAcc& acc, GfVec a, GfVec b) {
  const GfAcc product = carryless(a, b);
  acc.low ^= product.low;
  acc.high ^= product.high;
}
COFIT_INLINE Word gf_total(const GfAcc& acc) { return gf_reduced(acc.low, acc.high); }

}  // namespace COFIT_ISA
}  // namespace cofit

#define COFIT_GF_BY_TABLES 1
#include "proof_gf.inc"
#include "proof_bits_tables.inc"
#include "proof_bits.inc"
#include "proof_gf_table.inc"
