#define COFIT_ISA baseline
#define COFIT_ISA_TABLE kBaselineKernels
#include "kernels.hpp"
#include "lanes_scalar.inc"
#include "isa_kernels.inc"
