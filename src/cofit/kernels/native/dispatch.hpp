// Which instruction set and how many threads the kernels use; both are process-wide settings.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace cofit {

std::vector<const Kernels*> available_kernels();  // what this CPU can run, best last
const Kernels& current_kernels();
void choose_kernels(const std::string& name);  // std::invalid_argument when not available

constexpr std::size_t kMaxThreads = 1024;
std::size_t default_threads();
void set_default_threads(std::size_t threads);

// Read COFIT_ISA and COFIT_THREADS; std::invalid_argument when a value makes no sense.
void configure_from_environment();

}  // namespace cofit
