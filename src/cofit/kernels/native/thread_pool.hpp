// Worker threads that outlive a call. Safe to use from several threads at once and after fork.
#pragma once

#include <cstddef>

namespace cofit {

// One piece of work. slot < threads is held by one piece at a time, so it can name scratch memory.
using Piece = void (*)(void* context, std::size_t piece, std::size_t slot);

// Run piece 0 .. pieces - 1 on at most `threads` threads, the calling one included; return when all are done.
// A piece must not throw and must not call this function.
void run_pieces(std::size_t threads, std::size_t pieces, Piece piece, void* context);

template <typename Body>
void for_pieces(std::size_t threads, std::size_t pieces, Body& body) {
  run_pieces(
      threads, pieces,
      [](void* context, std::size_t piece, std::size_t slot) { (*static_cast<Body*>(context))(piece, slot); },
      &body);
}

}  // namespace cofit
