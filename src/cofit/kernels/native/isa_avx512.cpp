#define COFIT_ISA avx512
#define COFIT_ISA_TABLE kAvx512Kernels
#define COFIT_WIDE_DOT_ON_LANES 0
#include "kernels.hpp"
#include "lanes_avx512.inc"
#include "isa_kernels.inc"
