// Python arguments as checked views. Nothing is converted or copied: an argument that does not fit is refused
// with "The 'x' parameter of f must be ... Got ... instead."
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace cofit {

enum class Access { read, write };

[[noreturn]] void refuse_type(const char* function, const std::string& name, const std::string& must_be,
                              nanobind::handle got);
[[noreturn]] void refuse_value(const char* function, const std::string& name, const std::string& must_be,
                               const std::string& got);

// The name of an argument, or of a member of a list; made into words only where it is refused.
struct ArgumentName {
  ArgumentName(const char* name) : name(name) {}
  ArgumentName(const char* list, std::size_t index) : name(list), index(static_cast<long>(index)) {}
  std::string text() const { return index < 0 ? name : std::string(name) + "[" + std::to_string(index) + "]"; }

  const char* name;
  long index = -1;
};

// 'Q' is any native unsigned 64-bit format, 'B' is uint8. pairs: words may also be records of two, lo and hi.
bool has_kind(const Py_buffer& buffer, char kind, bool pairs);

constexpr std::size_t kAnyShape = 0;  // of dimensions: as many as the array has, all taken as one

// A C-contiguous array of one or two dimensions, or of any shape, held for as long as the view lives. One of any shape may
// also hold records of two words.
class ArrayView {
 public:
  ArrayView(const char* function, ArgumentName name, nanobind::handle object, char kind, std::size_t ndim,
            Access access);
  ArrayView(ArrayView&& other) noexcept;
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;
  ~ArrayView();

  std::size_t size() const { return static_cast<std::size_t>(buffer_.len) / unit_; }
  std::size_t shape(std::size_t axis) const { return static_cast<std::size_t>(buffer_.shape[axis]); }

  void require_size(std::size_t size) const;
  void require_shape(std::size_t rows, std::size_t cols) const;
  void require_apart_from(const ArrayView& input) const;          // no common byte
  void require_same_or_apart_from(const ArrayView& input) const;  // exactly the same buffer, or no common byte

 protected:
  const char* function_;
  ArgumentName name_;
  Py_buffer buffer_;
  std::size_t unit_;  // bytes of a word, or one
  bool flat_;  // any shape, taken as one axis

 private:
  bool overlaps(const ArrayView& other) const;
  std::string shape_text() const;
};

class WordArray : public ArrayView {
 public:
  WordArray(const char* function, ArgumentName name, nanobind::handle object, std::size_t ndim,
            Access access = Access::read)
      : ArrayView(function, name, object, 'Q', ndim, access) {}
  Word* data() const { return static_cast<Word*>(buffer_.buf); }
  // Elements along the last axis, which holds whole elements.
  std::size_t elements(std::size_t words) const;
};

class ByteArray : public ArrayView {
 public:
  ByteArray(const char* function, ArgumentName name, nanobind::handle object, std::size_t ndim,
            Access access = Access::read)
      : ArrayView(function, name, object, 'B', ndim, access) {}
  uint8_t* data() const { return static_cast<uint8_t*>(buffer_.buf); }
};

// A list or tuple of one to `most` arrays; two such lists of one product have the same length.
std::vector<WordArray> word_arrays(const char* function, const char* name, nanobind::handle object,
                                   std::size_t ndim, std::size_t most = kMaxTerms, Access access = Access::read);
void require_same_length(const char* function, const char* name, std::size_t length, std::size_t expected);

std::size_t checked_words(const char* function, int words);
std::size_t checked_threads(const char* function, int threads);  // 0 stands for the default

}  // namespace cofit
