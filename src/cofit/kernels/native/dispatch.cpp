#include "dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

namespace cofit {
namespace {

std::atomic<const Kernels*> chosen{&kBaselineKernels};
std::atomic<std::size_t> threads_by_default{1};

}  // namespace

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> found{&kBaselineKernels};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (avx2) found.push_back(&kAvx2Kernels);
  if (avx2 && avx512) found.push_back(&kAvx512Kernels);
#endif
  return found;
}

const Kernels& current_kernels() { return *chosen.load(std::memory_order_relaxed); }

void choose_kernels(const std::string& name) {
  std::string names;
  for (const Kernels* kernels : available_kernels()) {
    if (name == kernels->name) {
      chosen.store(kernels, std::memory_order_relaxed);
      return;
    }
    names += (names.empty() ? "'" : ", '") + std::string(kernels->name) + "'";
  }
  throw std::invalid_argument("The instruction set must be one this CPU can run: " + names + ". Got '" + name +
                              "' instead.");
}

std::size_t default_threads() { return threads_by_default.load(std::memory_order_relaxed); }

void set_default_threads(std::size_t threads) { threads_by_default.store(threads, std::memory_order_relaxed); }

void configure_from_environment() {
  const char* isa = std::getenv("COFIT_ISA");
  if (isa != nullptr && *isa != '\0')
    choose_kernels(isa);
  else
    choose_kernels(available_kernels().back()->name);
  const char* threads = std::getenv("COFIT_THREADS");
  if (threads != nullptr && *threads != '\0') {
    char* end = nullptr;
    const long count = std::strtol(threads, &end, 10);
    if (*end != '\0' || count < 1 || count > static_cast<long>(kMaxThreads))
      throw std::invalid_argument("The environment variable COFIT_THREADS must be a number from 1 to " +
                                  std::to_string(kMaxThreads) + ". Got '" + threads + "' instead.");
    set_default_threads(static_cast<std::size_t>(count));
  }
}

}  // namespace cofit
