// Python functions for the kernels of narrow.inc.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_narrow(nanobind::module_& m);

}  // namespace cofit
