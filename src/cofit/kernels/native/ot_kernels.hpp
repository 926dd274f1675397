// The tables of kernels for oblivious transfer. Sizes and overlap were checked at the Python boundary.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cofit {

using Word = uint64_t;
__extension__ typedef unsigned __int128 Wide;

constexpr size_t kTrees = 26, kDepth = 5, kLeaves = 32;     // of a tree: leaves 0 to 31, five bits of a row
constexpr size_t kRowWords = 2, kRowBits = 128;             // so that the last tree has three bits of a row
constexpr size_t kKeyBytes = 16, kScheduleBytes = 11 * 16;  // of AES-128
constexpr size_t kQuantum = 1024;                           // transfers are made in multiples of this
constexpr size_t kQuantumWords = kQuantum / 64, kQuantumBlocks = kQuantum / 128;
constexpr size_t kQuantumBytes = kQuantum / 8, kCorrectionBytes = (kTrees - 1) * kQuantumBytes;
constexpr size_t kGroup = 64;  // rows are hashed in multiples of this

constexpr size_t kKeyGroups = kQuantum / kGroup;  // of rows that are hashed with one key

// What is hashed: row j of `rows` XOR delta, with the tweak first + j. Schedules follow one another, one for every
// kKeyGroups groups, the first of which lacks `skipped` of its groups.
struct Hashed {
  const uint8_t* schedules;
  size_t skipped;
  const Word* rows;
  const Word* delta;
  Wide first;
};

struct OtKernels {
  void (*schedules)(const uint8_t* keys, size_t n, uint8_t* out);
  // Quanta from `begin` to `end` of those that start at block `position` of the streams.
  void (*chooser)(const uint8_t* schedules, Word position, size_t begin, size_t end, Word* rows, Word* choices,
                  uint8_t* corrections);
  void (*sender)(const uint8_t* schedules, const Word* delta, Word position, size_t begin, size_t end,
                 const uint8_t* corrections, Word* rows);
  // Groups of rows from `begin` to `end`.
  void (*hash_wide)(const Hashed& hashed, size_t begin, size_t end, Word* out);
  void (*hash_words)(const Hashed& hashed, size_t begin, size_t end, Word* out);
  void (*hash_bits)(const Hashed& hashed, size_t begin, size_t end, Word* out);
  // Every plane has `width` words.
  void (*hash_planes)(const Hashed& hashed, size_t begin, size_t end, size_t planes, size_t width, Word* out);
};

#if defined(__x86_64__)
extern const OtKernels kAesniOtKernels;
extern const OtKernels kVaesOtKernels;
#endif

}  // namespace cofit
