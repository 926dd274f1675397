#define COFIT_ISA rlwe_avx512
#define COFIT_RLWE_TABLE kAvx512RlweKernels
#include <immintrin.h>

#include "rlwe_kernels.hpp"
#include "rlwe_lanes_avx512.inc"
#include "rlwe_doubles.inc"
#include "rlwe.inc"
