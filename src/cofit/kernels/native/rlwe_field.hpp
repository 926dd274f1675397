// Arithmetic modulo one prime below 2^50, in words and without a branch on a value.
#pragma once

#include "rlwe_kernels.hpp"

namespace cofit {

inline Word rlwe_less(Word x, Word p) {  // x mod p, for x below 2p
  const Word d = x - p;
  return d + (p & (Word{0} - (d >> 63)));
}

// a b mod p, for a and b below p; reciprocal is floor(2^100 / p). The quotient is too small by two at most.
inline Word rlwe_times(Word a, Word b, Word p, Word reciprocal) {
  const Wide h = static_cast<Wide>(a) * b;
  const Word q = static_cast<Word>((static_cast<Wide>(static_cast<Word>(h >> 49)) * reciprocal) >> 51);
  return rlwe_less(rlwe_less(static_cast<Word>(h) - q * p, p), p);
}

inline Word rlwe_reciprocal(Word p) { return static_cast<Word>((static_cast<Wide>(1) << 100) / p); }

// base^exponent mod p; the exponent is public.
inline Word rlwe_power(Word base, Word exponent, Word p) {
  const Word reciprocal = rlwe_reciprocal(p);
  Word result = 1;
  for (; exponent != 0; exponent >>= 1, base = rlwe_times(base, base, p, reciprocal))
    if (exponent & 1) result = rlwe_times(result, base, p, reciprocal);
  return result;
}

inline Word rlwe_inverse(Word x, Word p) { return rlwe_power(x, p - 2, p); }

}  // namespace cofit
