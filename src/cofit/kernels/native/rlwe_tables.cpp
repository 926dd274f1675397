#include "rlwe_tables.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

#include "dispatch.hpp"
#include "rlwe_field.hpp"

namespace cofit {
namespace {

constexpr std::size_t kMaxTables = 64;
constexpr Word kTries = 1000;

struct Table {
  RlwePrime prime;
  std::vector<Word> roots, quotients, back_roots, back_quotients;
};

std::size_t reversed_bits(std::size_t i, std::size_t n) {
  std::size_t reversed = 0;
  for (std::size_t bit = 1; bit < n; bit <<= 1, i >>= 1) reversed = 2 * reversed + (i & 1);
  return reversed;
}

// A root of X^n + 1, the same for everybody: that of the smallest number which gives one.
Word root_of(Word p, std::size_t n) {
  for (Word x = 2; x < kTries; ++x) {
    const Word psi = rlwe_power(x, (p - 1) / (2 * n), p);
    if (rlwe_power(psi, n, p) == p - 1) return psi;
  }
  throw std::invalid_argument(std::to_string(p) + ", which is no prime");
}

void fill(const RlweKernels& kernels, Word psi, Word p, std::size_t n, std::vector<Word>& roots,
          std::vector<Word>& quotients) {
  const Word reciprocal = rlwe_reciprocal(p);
  roots.resize(n);
  quotients.resize(n);
  Word power = 1;
  for (std::size_t i = 0; i < n; ++i, power = rlwe_times(power, psi, p, reciprocal)) {
    Word encoded[2];
    kernels.root(power, p, encoded);
    const std::size_t at = reversed_bits(i, n);
    roots[at] = encoded[0];
    quotients[at] = encoded[1];
  }
}

std::unique_ptr<Table> made(const RlweKernels& kernels, Word p, std::size_t n) {
  if (p >> (kResidueBits - 1) != 1 || (p - 1) % (2 * n) != 0)
    throw std::invalid_argument(std::to_string(p));
  const Word psi = root_of(p, n);
  auto table = std::make_unique<Table>();
  fill(kernels, psi, p, n, table->roots, table->quotients);
  fill(kernels, rlwe_inverse(psi, p), p, n, table->back_roots, table->back_quotients);
  Word scale[2];
  kernels.root(rlwe_inverse(n, p), p, scale);
  table->prime = {p,        rlwe_reciprocal(p),        table->roots.data(), table->quotients.data(),
                  table->back_roots.data(), table->back_quotients.data(), scale[0],            scale[1]};
  return table;
}

}  // namespace

const RlweKernels& rlwe_kernels() {
#if defined(__x86_64__)
  const Kernels* const chosen = &current_kernels();
  __builtin_cpu_init();
  static const bool fma = __builtin_cpu_supports("fma");
  if (chosen == &kAvx512Kernels && fma) return kAvx512RlweKernels;
  if (chosen == &kAvx2Kernels && fma) return kFmaRlweKernels;
#endif
  return kPortableRlweKernels;
}

std::vector<RlwePrime> rlwe_primes(const RlweKernels& kernels, const Word* primes, std::size_t count, std::size_t n) {
  static std::mutex guard;
  static std::map<std::tuple<const RlweKernels*, std::size_t, Word>, std::unique_ptr<Table>> tables;
  const std::lock_guard<std::mutex> locked(guard);
  std::vector<RlwePrime> found;
  found.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = std::make_tuple(&kernels, n, primes[i]);
    auto at = tables.find(key);
    if (at == tables.end()) {
      if (tables.size() >= kMaxTables) throw std::invalid_argument("more different primes than are kept");
      at = tables.emplace(key, made(kernels, primes[i], n)).first;
    }
    found.push_back(at->second->prime);
  }
  return found;
}

}  // namespace cofit
