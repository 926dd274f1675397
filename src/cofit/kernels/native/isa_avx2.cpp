#define COFIT_ISA avx2
#define COFIT_ISA_TABLE kAvx2Kernels
#include "kernels.hpp"
#include "lanes_avx2.inc"
#include "isa_kernels.inc"
