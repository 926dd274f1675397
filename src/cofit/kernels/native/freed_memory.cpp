#include "freed_memory.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cofit {

#ifdef __GLIBC__
namespace {

constexpr int kUsual = 128 << 10;
// Larger arrays are data themselves rather than what is computed from them: they go back as soon as they are dropped.
constexpr int kLargestKept = 16 << 20;
constexpr int kMostKept = 1 << 30;

}  // namespace

void keep_freed_memory(bool kept) {
  mallopt(M_MMAP_THRESHOLD, kept ? kLargestKept : kUsual);
  mallopt(M_TRIM_THRESHOLD, kept ? kMostKept : kUsual);
  if (!kept) malloc_trim(0);
}
#else
void keep_freed_memory(bool) {}
#endif

}  // namespace cofit
