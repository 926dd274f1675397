// Python functions for the kernels of oblivious transfer.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_ot(nanobind::module_& m);

}  // namespace cofit
