#define COFIT_ISA avx2
#define COFIT_ISA_TABLE kAvx2Kernels
#define COFIT_WIDE_DOT_ON_LANES 1
#include "kernels.hpp"
#include "lanes_avx2.inc"
#include "isa_kernels.inc"
