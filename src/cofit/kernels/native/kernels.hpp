// The table of kernels that every instruction set provides.
//
// Elements are in Z_2^64 (one word) or Z_2^128 (two adjacent words: low, high). An array of two members is
// indexed by words - 1. Pointers are trusted here: sizes and overlap were checked at the Python boundary.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(__SIZEOF_INT128__)
#error "cofit needs a compiler with unsigned __int128"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cofit needs a little-endian machine"
#endif

#include "proof_kernels.hpp"

namespace cofit {

constexpr size_t kMaxTerms = 8;    // of a sum of products
constexpr size_t kMaxArrays = 64;  // in a list that is added up or combined

// out[i] = sum_t sum_j mats[t][i, j] * vecs[t][j] for row_begin <= i < row_end.
using MatvecFn = void (*)(const Word* const* mats, const Word* const* vecs, size_t terms, size_t cols,
                          size_t row_begin, size_t row_end, Word* out);

// out[j] = sum_t sum_i mats[t][i, j] * vecs[t][i] for col_begin <= j < col_end.
using MatvecTransposedFn = void (*)(const Word* const* mats, const Word* const* vecs, size_t terms,
                                    size_t rows, size_t cols, size_t col_begin, size_t col_end, Word* out);

// Two vectors of one matrix: out[v * rows + i] = sum_j mat[i, j] * vecs[v * cols + j] for row_begin <= i < row_end, and
// transposed: out[v * cols + j] = sum_i mat[i, j] * vecs[v * rows + i] for col_begin <= j < col_end.
using MatvecPairFn = void (*)(const Word* mat, const Word* vecs, size_t rows, size_t cols, size_t begin,
                              size_t end, Word* out);

// out[i, j] = sum_t sum_l lhs[t][i, l] * rhs[t][l, j] for i, j in a block of the (m, n) result.
struct MatmulBlock {
  size_t depth;  // l runs over [0, depth)
  size_t cols;   // n
  size_t row_begin, row_end;
  size_t col_begin, col_end;
};
using MatmulFn = void (*)(const Word* const* lhs, const Word* const* rhs, size_t terms,
                          const MatmulBlock& block, Word* out, Word* scratch);
using MatmulScratchFn = size_t (*)(const MatmulBlock& block);  // words of scratch that MatmulFn needs

using UnaryFn = void (*)(const Word* a, size_t n, Word* out);
using BinaryFn = void (*)(const Word* a, const Word* b, bool b_is_scalar, size_t n, Word* out);
using MulSumFn = void (*)(const Word* const* lhs, const Word* const* rhs, const bool* rhs_is_scalar,
                          size_t terms, size_t n, Word* out);
using ShiftFn = void (*)(const Word* a, unsigned bits, size_t n, Word* out);

// Arrays that are added to a result, and arrays that are subtracted from it.
struct Addends {
  const Word* plus[kMaxArrays];
  const Word* minus[kMaxArrays];
  size_t plus_count = 0, minus_count = 0;
};
// The kernels below are indexed by words - 1 or, for 64 bits of GF(2) in a word, by kBitsIndex.
constexpr size_t kBitsIndex = 2;
using SignedSumFn = void (*)(const Addends& addends, size_t n, Word* out);
// out = a[0] (b[0] + b[1]) + a[1] b[0] + the addends.
using CrossProductFn = void (*)(const Word* const* a, const Word* const* b, const Addends& addends, size_t n, Word* out);
// out = d[0] (d[0] + 2 d[1]) + the addends, where d = a - row for every row of cols elements; n: whole rows.
using SquaredDistancesFn = void (*)(const Word* const* a, const Word* const* row, size_t cols, const Addends& addends,
                                    size_t n, Word* out);
// out = (1 - 2 b) a + (adds_bits ? b : 0) - minus, for the bit b of every element; a or minus: nullptr for zeros.
using SignedByBitsFn = void (*)(const Word* bits, const Word* a, bool adds_bits, const Word* minus, size_t rows,
                                size_t cols, Word* out);
// With c = opened + 2^(k-2): out = (1 - top(c)) top 2^(k-shift) - share - out_mask, and if adds_opened
// + (c >> shift) - 2^(k-2-shift). 0 < shift < k.
using UnmaskFn = void (*)(const Addends& opened, const Word* share, const Word* top, const Word* out_mask, unsigned shift,
                          bool adds_opened, size_t n, Word* out);
// Numbers of the lowest bytes of every element, next to each other in words (narrow.inc), and back.
using NarrowFn = void (*)(const Word* values, size_t bytes, const Word* fill, size_t n, Word* out);
using WidenFn = void (*)(const Word* packed, size_t bytes, size_t n, Word* out);
// With r = r_0 + r_1 of k bits: out_share = -(r >> shift) - share, out_top = (r >> (k - 1)) - top. top, out_top and all
// that follows of high parts: narrow numbers, of as many bytes as shift has begun. 0 < shift < k.
using MaskPartsFn = void (*)(const Word* r_0, const Word* r_1, const Word* share, const Word* top, unsigned shift,
                             size_t n, Word* out_share, Word* out_top);
// With c = opened + 2^(k-2): out = (c >> shift) - 2^(k-2-shift), out_high = (1 - top(c)) top - hidden.
using OpenMaskedFn = void (*)(const Addends& opened, const Word* top, const Word* hidden, unsigned shift, size_t n,
                              Word* out, Word* out_high);
// out = values + 2^(k-shift) (the sum of the parts).
using AddHighFn = void (*)(const Word* values, const Word* const* parts, size_t parts_count, unsigned shift, size_t n,
                           Word* out);
// With bits i (inside), n (below) and a mask r of k bits: rows i, n, i q, (1 - i) q for q = r >> shift and, if shift > 0,
// for q = r >> (k - 1), all less hidden.
using ClipDealFn = void (*)(const Word* mask, const Word* inside, const Word* below, const Word* const* hidden,
                            unsigned shift, size_t n, Word* out);
// What such rows are for: kernels/__init__.py.
using ClipProductsFn = void (*)(const Word* opened, const Word* inside, const Word* below,
                                const Word* const* dealt, const Word* out_mask, const Word* ends, unsigned shift,
                                bool first, size_t n, Word* out);
// Linear combinations of arrays, a row for each result. The terms of a row are sorted by what they cost: inputs that are
// added, inputs that are subtracted, and inputs that are multiplied by a coefficient first.
struct ScaledInput {
  Word low, high;  // the coefficient
  size_t input;
};
struct CombinationRow {
  const ScaledInput *plus, *minus, *times, *end;
};
struct Combination {
  size_t inputs = 0, outs = 0;
  CombinationRow rows[kMaxArrays];
};
// outs[c] = sum_a coefficient (c, a) * inputs[a].
using CombineFn = void (*)(const Combination& combination, const Word* const* inputs, size_t n, Word* const* outs);
// out = sum_c a[c] * (row c of the combination of b) + the addends. At most kMaxTerms rows and inputs.
using BilinearFn = void (*)(const Combination& combination, const Word* const* a, const Word* const* b,
                            const Addends& addends, size_t n, Word* out);

struct Kernels {
  const char* name;
  MatvecFn matvec[2];
  MatvecTransposedFn matvec_t[2];
  MatvecPairFn matvec_pair[2], matvec_t_pair[2];
  MatmulFn matmul[2];
  MatmulScratchFn matmul_scratch[2];
  BinaryFn add[2], sub[2], mul[2];
  MulSumFn mul_sum[2];
  UnaryFn neg[2];
  ShiftFn shl[2], shr[2], sar[2];
  // Bit j of word w of a row = element 64 w + j. pack_bits says whether every element was 0 or 1.
  bool (*pack_bits)(const uint8_t* bits, size_t rows, size_t n, Word* out);
  void (*unpack_bits)(const Word* packed, size_t rows, size_t n, uint8_t* out);
  // Plane b, bit i = bit b of element i.
  void (*to_planes[2])(const Word* values, size_t n, Word* out);
  void (*from_planes[2])(const Word* planes, size_t n, Word* out);
  // Bilinear forms over GF(2): see bit_forms.inc. At most 64 rows of ``right``.
  void (*bit_forms)(const Word* matrix, size_t forms, const Word* left, size_t lefts, const Word* right,
                    size_t rights, size_t width, size_t begin, size_t end, Word* out);
  SignedSumFn signed_sum[3];
  CrossProductFn cross_product[3];
  SquaredDistancesFn squared_distances[2];
  SignedByBitsFn signed_by_bits[2];
  UnmaskFn unmask[2];
  NarrowFn narrow[2];
  WidenFn widen[2];
  MaskPartsFn mask_parts[2];
  OpenMaskedFn open_masked[2];
  AddHighFn add_high[2];
  // Carries four bits at a time (arithmetic/carry_tables.py): the tables of planes, and what is picked from them.
  void (*carry_tables)(const Word* planes, size_t groups, size_t words, Word* out);
  void (*carry_signals)(const Word* table, const Word* planes, bool constant, size_t groups, size_t numbers, size_t words,
                        Word* out);
  ClipDealFn clip_deal[2];
  ClipProductsFn clip_products[2];
  CombineFn combine[3];
  BilinearFn bilinear[3];
  ProofKernels proof;
};

extern const Kernels kBaselineKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace cofit
