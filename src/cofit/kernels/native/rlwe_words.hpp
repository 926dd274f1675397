// What RLWE does with single residues: sampling, packing, rounding. No branch and no address depends on a value.
#pragma once

#include <cstddef>

#include "rlwe_kernels.hpp"

namespace cofit {

// Signed numbers in two's complement: uniform in {-1, 0, 1} (of words that are not 0), and centred binomial of 2 x 21 bits.
void rlwe_ternary(const Word* random, std::size_t n, Word* out);
void rlwe_binomial(const Word* random, std::size_t n, Word* out);

// Residues of 50 bits each, densely; the last byte is padded with zeros.
constexpr std::size_t rlwe_packed_bytes(std::size_t n) { return (n * kResidueBits + 7) / 8; }
void rlwe_pack(const Word* values, std::size_t n, uint8_t* out);
std::size_t rlwe_unpack(const uint8_t* packed, std::size_t n, Word p, Word* out);  // how many are not below p

// Of residues modulo the primes: the number modulo their product, over it, times 2^(64 words), rounded. values and out
// are [limb][m] and [m][words]; near[i] says whether the fraction is within margin / 2^(64 words) of one half.
void rlwe_round(const Word* values, const Word* primes, std::size_t limbs, std::size_t m, std::size_t words,
                Word margin, Word* out, uint8_t* near);

// The number over the last prime, rounded, modulo the others: [limb][m] to [limb - 1][m].
void rlwe_drop(const Word* values, const Word* primes, std::size_t limbs, std::size_t m, Word* out);

}  // namespace cofit
