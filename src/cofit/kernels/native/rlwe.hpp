// Python functions for the kernels of RLWE encryption.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_rlwe(nanobind::module_& m);

}  // namespace cofit
