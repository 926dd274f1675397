// What becomes of memory that arrays no longer need.
#pragma once

namespace cofit {

// kept: freed blocks stay with this process, for the next arrays. A new block from the system is cleared page by page
// when it is first written, which takes longer than to fill it. Else they go back, at once and from now on. Where the C
// library is not GNU's, nothing happens.
void keep_freed_memory(bool kept);

}  // namespace cofit
