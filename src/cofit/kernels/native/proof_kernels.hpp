// The tables of kernels for proofs of products. Sizes, ranges and overlap were checked at the Python boundary.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cofit {

using Word = uint64_t;
__extension__ typedef unsigned __int128 Wide;

constexpr size_t kMaxForm = 20;                   // arrays on either side of a form
constexpr size_t kCoefficientBytes = 7;           // of a relation
constexpr size_t kSums = 8 * kCoefficientBytes;   // bit l of a relation says whether sum l counts it
constexpr size_t kGridRows = 16, kGridPoints = 81;  // {0, 1}^4 and {0, 1, inf}^4
constexpr size_t kWordBits = 64;
constexpr size_t kMaxGathered = 256;  // rows of bits

// The form sum_a left[a] * (sum of right[b], b a bit of masks[a]); no mask is zero.
struct Form {
  size_t lefts = 0, rights = 0;
  const Word* left[kMaxForm];
  Word masks[kMaxForm];
  const Word* right[kMaxForm];
};

// An odd number p between 2^60 and 2^61, and what its reductions need.
struct Prime {
  Word p;
  Word inverse;       // floor(2^124 / p)
  Word power_64;      // 2^64 mod p
  Word power_128;     // 2^128 mod p
};

// A matrix of elements at matrix[(d * depth_stride + j * lane_stride) * words]; sums run over d.
struct Projected {
  const Word* masks;  // of every d
  size_t depth;
  const Word* matrix;
  size_t depth_stride, lane_stride;
  size_t lanes;       // in a row of out
};

// What follows is indexed by words - 1.
struct ProofKernels {
  void (*subset_sums[2])(const Word* values, const uint8_t* coefficients, size_t n, Word* out);
  void (*claimed_sums[2])(const Form& form, const uint8_t* coefficients, size_t n, size_t terms, Word* out);
  // out[l * lanes + j] = sum over d with bit l of masks[d], for begin <= j < end.
  void (*project[2])(const Projected& projected, size_t begin, size_t end, Word* out);
  // The arrays of the form have kSums rows of n elements; out[l, k] has 2 words + 1 limbs.
  void (*claimed_matrix[2])(const Form& form, size_t n, Word* out);

  void (*field_weights)(const uint8_t* coefficients, size_t n, const Word* sigma, const Prime& prime, Word* out);
  // weights may be null: all are one.
  void (*field_scale[2])(const Word* values, const Word* weights, size_t n, size_t terms, const Prime& prime, Word* out);
  void (*field_combine[2])(const Word* values, size_t count, size_t n, const Word* sigma, const Prime& prime, Word* out);
  void (*field_fold)(const Word* x, size_t half, Word r, const Prime& prime, Word* out);
  // result[0] = the form of the first halves, result[1] = that of second minus first halves.
  void (*field_halves)(const Form& form, size_t half, const Prime& prime, Word* result);
  Word (*field_form)(const Form& form, size_t n, const Prime& prime);
};

// GF(2^64) and bits.
struct GfKernels {
  Word (*mul)(Word a, Word b);
  void (*scale)(const Word* values, const Word* weights, bool one_weight, size_t n, Word* out);
  void (*fold)(const Word* x, size_t half, Word r, Word* out);
  void (*halves)(const Form& form, size_t half, Word* result);
  Word (*form)(const Form& form, size_t n);
  void (*bit_grid)(const Form& form, size_t width, const Word* beta, const Word* omega, Word* out);
  void (*bit_gather)(const Word* rows, size_t count, size_t width, const Word* coefs, Word* out);
  Word (*bit_weighted)(const Word* rows, size_t count, size_t width, const Word* coefs, const Word* beta,
                       const Word* omega);
  void (*outer)(const Word* omega, size_t width, const Word* beta, const Word* x, Word* out);
};

extern const GfKernels kPortableGfKernels;
#if defined(__x86_64__)
extern const GfKernels kPclmulGfKernels;
extern const GfKernels kVpclmulGfKernels;
#endif

}  // namespace cofit
