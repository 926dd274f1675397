#define COFIT_ISA rlwe_portable
#define COFIT_RLWE_TABLE kPortableRlweKernels
#include "rlwe_kernels.hpp"
#include "rlwe_lanes_portable.inc"
#include "rlwe.inc"
