// Python functions for the kernels of clip.inc.
#pragma once

#include <nanobind/nanobind.h>

namespace cofit {

void def_clip(nanobind::module_& m);

}  // namespace cofit
