// What the checks of kernels share: random buffers of exactly the right size, and a count of what is wrong.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

#include "combination.hpp"
#include "dispatch.hpp"
#include "kernels.hpp"
#include "products.hpp"

namespace cofit {

inline int failures = 0;

inline void expect(bool good, const char* what, std::size_t words, std::size_t a, std::size_t b, std::size_t c) {
  if (good) return;
  ++failures;
  std::printf("wrong: %s, %zu words, sizes %zu %zu %zu\n", what, words, a, b, c);
}

inline Word next_random() {
  static Word state = 0x243F6A8885A308D3u;
  state += 0x9E3779B97F4A7C15u;
  Word z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Its own allocation of exactly n words, so that the sanitizer sees one word too many.
struct Buffer {
  explicit Buffer(std::size_t n, bool random = true) : size(n), data(new Word[n]) {
    for (std::size_t i = 0; i < n; ++i) {
      const Word r = next_random();
      data[i] = !random ? 0xA5A5A5A5A5A5A5A5u : r % 5 == 0 ? ~Word{0} : r % 7 == 0 ? 0 : next_random();
    }
  }
  Wide get(std::size_t i, std::size_t words) const {
    return words == 1 ? Wide{data[i]} : (Wide{data[2 * i + 1]} << 64) | data[2 * i];
  }
  bool holds(std::size_t i, Wide value, std::size_t words) const {
    return words == 1 ? data[i] == static_cast<Word>(value) : get(i, words) == value;
  }
  std::size_t size;
  std::unique_ptr<Word[]> data;
};

// Narrow numbers, parts of truncations and clips: check_clips.cpp.
void check_narrow(const Kernels& k, std::size_t words);
void check_clips(const Kernels& k, std::size_t words);
void check_carries(const Kernels& k);

}  // namespace cofit
