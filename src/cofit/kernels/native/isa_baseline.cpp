#define COFIT_ISA baseline
#define COFIT_ISA_TABLE kBaselineKernels
#define COFIT_WIDE_DOT_ON_LANES 0
#include "kernels.hpp"
#include "lanes_scalar.inc"
#include "isa_kernels.inc"
