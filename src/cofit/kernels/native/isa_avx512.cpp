#define COFIT_ISA avx512
#define COFIT_ISA_TABLE kAvx512Kernels
#include "kernels.hpp"
#include "lanes_avx512.inc"
#include "isa_kernels.inc"
