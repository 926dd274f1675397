#define COFIT_ISA rlwe_fma
#define COFIT_RLWE_TABLE kFmaRlweKernels
#include <immintrin.h>

#include "rlwe_kernels.hpp"
#include "rlwe_lanes_fma.inc"
#include "rlwe_doubles.inc"
#include "rlwe.inc"
