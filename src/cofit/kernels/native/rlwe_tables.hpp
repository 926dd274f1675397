// Primes with the tables of their transforms, made once and kept.
#pragma once

#include <vector>

#include "rlwe_kernels.hpp"

namespace cofit {

const RlweKernels& rlwe_kernels();  // of the chosen instruction set

// std::invalid_argument when a number is no prime between 2^49 and 2^50 that is 1 modulo 2n (nearly always).
std::vector<RlwePrime> rlwe_primes(const RlweKernels& kernels, const Word* primes, std::size_t count, std::size_t n);

}  // namespace cofit
