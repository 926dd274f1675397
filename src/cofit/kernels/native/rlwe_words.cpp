#include "rlwe_words.hpp"

#include <cstring>
#include <vector>

#include "rlwe_field.hpp"

namespace cofit {
namespace {

constexpr Word kResidueMask = (Word{1} << kResidueBits) - 1;
constexpr std::size_t kTogether = 4;  // residues of 25 bytes
constexpr std::size_t kMaxFixed = 5;  // words of a fraction: 2 words of an element and one more

Word ones(Word x) {  // how many, without a table
  x = x - ((x >> 1) & 0x5555555555555555u);
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return (x * 0x0101010101010101u) >> 56;
}

// A number below 1 in fixed point, low words first, modulo 1.
struct Fraction {
  Word word[kMaxFixed] = {};
  // += x * y
  void add_product(Word x, const Fraction& y, std::size_t words) {
    Word carry = 0;
    for (std::size_t i = 0; i < words; ++i) {
      const Wide sum = static_cast<Wide>(x) * y.word[i] + word[i] + carry;
      word[i] = static_cast<Word>(sum);
      carry = static_cast<Word>(sum >> 64);
    }
  }
};

Fraction over(Word p, std::size_t words) {  // 1 / p, rounded down
  Fraction quotient;
  Word rest = 1;
  for (std::size_t i = words; i-- > 0;) {
    const Wide dividend = static_cast<Wide>(rest) << 64;
    quotient.word[i] = static_cast<Word>(dividend / p);
    rest = static_cast<Word>(dividend % p);
  }
  return quotient;
}

}  // namespace

void rlwe_ternary(const Word* random, std::size_t n, Word* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<Word>((static_cast<Wide>(random[i]) * 3) >> 64) - 1;
}

void rlwe_binomial(const Word* random, std::size_t n, Word* out) {
  constexpr Word mask = (Word{1} << 21) - 1;
  for (std::size_t i = 0; i < n; ++i) out[i] = ones(random[i] & mask) - ones((random[i] >> 21) & mask);
}

void rlwe_pack(const Word* values, std::size_t n, uint8_t* out) {
  std::size_t i = 0;
  for (; i + kTogether <= n; i += kTogether, out += 25) {
    const Word* const x = values + i;
    const Word packed[3] = {x[0] | x[1] << 50, x[1] >> 14 | x[2] << 36, x[2] >> 28 | x[3] << 22};
    std::memcpy(out, packed, 24);
    out[24] = static_cast<uint8_t>(x[3] >> 42);
  }
  Wide bits = 0;
  std::size_t held = 0;
  for (; i < n; ++i) {
    bits |= static_cast<Wide>(values[i]) << held;
    for (held += kResidueBits; held >= 8; held -= 8, bits >>= 8) *out++ = static_cast<uint8_t>(bits);
  }
  if (held > 0) *out = static_cast<uint8_t>(bits);
}

std::size_t rlwe_unpack(const uint8_t* packed, std::size_t n, Word p, Word* out) {
  std::size_t i = 0, wrong = 0;
  for (; i + kTogether <= n; i += kTogether, packed += 25) {
    Word x[3];
    std::memcpy(x, packed, 24);
    out[i] = x[0] & kResidueMask;
    out[i + 1] = (x[0] >> 50 | x[1] << 14) & kResidueMask;
    out[i + 2] = (x[1] >> 36 | x[2] << 28) & kResidueMask;
    out[i + 3] = (x[2] >> 22 | static_cast<Word>(packed[24]) << 42) & kResidueMask;
    for (std::size_t j = 0; j < kTogether; ++j) wrong += 1 - ((out[i + j] - p) >> 63);
  }
  Wide bits = 0;
  std::size_t held = 0;
  for (; i < n; ++i) {
    for (; held < kResidueBits; held += 8) bits |= static_cast<Wide>(*packed++) << held;
    out[i] = static_cast<Word>(bits) & kResidueMask;
    bits >>= kResidueBits;
    held -= kResidueBits;
    wrong += 1 - ((out[i] - p) >> 63);
  }
  return wrong;
}

void rlwe_round(const Word* values, const Word* primes, std::size_t limbs, std::size_t m, std::size_t words,
                Word margin, Word* out, uint8_t* near) {
  const std::size_t length = 2 * words + 1;
  std::vector<Fraction> shares(limbs), sums(m);
  for (std::size_t l = 0; l < limbs; ++l) {  // of y / p with y = value (q / p)^-1 mod p
    const Word p = primes[l], reciprocal = rlwe_reciprocal(p);
    Word others = 1;
    for (std::size_t k = 0; k < limbs; ++k)
      if (k != l) others = rlwe_times(others, primes[k] % p, p, reciprocal);
    const Word factor = rlwe_inverse(others, p);
    const Fraction part = over(p, length);
    for (std::size_t i = 0; i < m; ++i)
      sums[i].add_product(rlwe_times(values[l * m + i], factor, p, reciprocal), part, length);
  }
  const Wide bits = words == 1 ? ~Word{0} : ~Wide{0};
  const Wide half = static_cast<Wide>(1) << (64 * words - 1);
  for (std::size_t i = 0; i < m; ++i) {
    const Word* const w = sums[i].word;
    Wide fraction = w[words], element = w[2 * words];
    if (words == 2) {
      fraction = static_cast<Wide>(w[2]) << 64 | w[1];
      element = static_cast<Wide>(w[4]) << 64 | w[3];
    }
    element += fraction >> (64 * words - 1);
    for (std::size_t k = 0; k < words; ++k) out[i * words + k] = static_cast<Word>(element >> (64 * k));
    const Wide distance = (fraction - half + margin) & bits;  // from 0 to 2 margin where it is near
    near[i] = distance <= static_cast<Wide>(margin) * 2;
  }
}

void rlwe_drop(const Word* values, const Word* primes, std::size_t limbs, std::size_t m, Word* out) {
  const Word last = primes[limbs - 1];
  const Word* const dropped = values + (limbs - 1) * m;
  for (std::size_t l = 0; l + 1 < limbs; ++l) {
    const Word p = primes[l], reciprocal = rlwe_reciprocal(p), factor = rlwe_inverse(last % p, p);
    const Word wrap = last % p;
    for (std::size_t i = 0; i < m; ++i) {
      // The dropped residue, from -last / 2 to last / 2, modulo p; both primes are between 2^49 and 2^50.
      const Word negative = Word{0} - ((last / 2 - dropped[i]) >> 63);
      const Word low = rlwe_less(dropped[i], p);
      const Word centred = rlwe_less(low + p - (wrap & negative), p);
      out[l * m + i] = rlwe_times(rlwe_less(values[l * m + i] + p - centred, p), factor, p, reciprocal);
    }
  }
}

}  // namespace cofit
