// Python functions for the kernels of proofs of products.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_proof_ring(nanobind::module_& m);
void def_proof_field(nanobind::module_& m);
void def_proof_gf(nanobind::module_& m);

}  // namespace cofit
