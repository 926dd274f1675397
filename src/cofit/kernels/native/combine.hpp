// Python functions for the kernels of combine.inc.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_combine(nanobind::module_& m);

}  // namespace cofit
