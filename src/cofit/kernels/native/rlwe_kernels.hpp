// Kernels for polynomials modulo X^n + 1 and primes p between 2^49 and 2^50, p = 1 modulo 2n.
//
// Residues at the boundary are words below p; inside, every instruction set has a form of its own. Transformed
// polynomials are in bit-reversed order (Longa and Naehrig 2016, algorithms 1 and 2), the same one everywhere.
#pragma once

#include "kernels.hpp"

namespace cofit {

constexpr size_t kResidueBits = 50;
constexpr size_t kMinDegree = 64, kMaxDegree = 32768;
constexpr size_t kMaxLimbs = 8;

// A prime, and the powers of a root of X^n + 1 that transforms multiply by, each with its quotient by p, in the form of
// one instruction set. A block of the layer with m blocks is node m + its number, and has the root of that index.
struct RlwePrime {
  Word p;
  Word reciprocal;                          // floor(2^100 / p)
  const Word *roots, *quotients;            // of a forward transform
  const Word *back_roots, *back_quotients;  // of an inverse one
  Word scale, scale_quotient;               // 1 / n
};

// Ring elements are signed numbers of one or two planes of n words each: low words, then high words.
struct RlweProducts {
  size_t n, limbs, words;
  size_t replies, blocks;
  size_t active;         // coefficients of a plaintext from here on are zero; a power of two
  const RlwePrime* primes;
  const Word* elements;  // [reply][block][word][active]
  const Word* requests;  // [block][2][limb][n], transformed
  const Word* key;       // [2][limb][n], transformed
  const Word* small;     // [reply][3][n], signed: u, e_0, e_1
  Word* out;             // [reply][2][limb][n]: sum over blocks of plaintext times request, + (key_i u + e_i)
  Word* scratch;         // (2 replies + 2) n words
};

struct RlweKernels {
  // A root and its quotient by p in the form that this table's transforms take.
  void (*root)(Word w, Word p, Word out[2]);
  void (*forward)(const RlwePrime& prime, size_t n, Word* values, Word* scratch);
  void (*inverse)(const RlwePrime& prime, size_t n, Word* values, Word* scratch);
  // out = transform of factor * elements + small - a s; elements or a may be null. scratch: n words.
  void (*encrypt)(const RlwePrime& prime, size_t n, const Word* elements, size_t words, const Word factor[2],
                  const Word* small, const Word* a, const Word* s, Word* out, Word* scratch);
  void (*multiply)(const RlweProducts& products);
  // out = c * s, of which s is transformed. scratch: n words.
  void (*phase)(const RlwePrime& prime, size_t n, const Word* c, const Word* s, Word* out, Word* scratch);
};

extern const RlweKernels kPortableRlweKernels;
#if defined(__x86_64__)
extern const RlweKernels kFmaRlweKernels;
extern const RlweKernels kAvx512RlweKernels;
#endif

}  // namespace cofit
