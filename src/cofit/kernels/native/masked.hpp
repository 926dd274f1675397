// Python functions for the kernels of masked.inc.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_masked(nanobind::module_& m);

}  // namespace cofit
