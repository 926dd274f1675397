// Arguments that the kernels for proofs of products have in common.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "arguments.hpp"

namespace cofit {

using Arrays = std::vector<WordArray>;

// A Python integer from 0 to most.
Word checked_word(const char* function, ArgumentName name, nanobind::handle object, Word most);

// A prime p is an odd number between 2^60 and 2^61; that it is a prime is the caller's part.
Prime checked_prime(const char* function, nanobind::handle object);

// Seven bytes for each of n relations.
ByteArray checked_coefficients(const char* function, nanobind::handle object);

// Two lists of arrays and the masks that say which pairs count. The arrays have `ndim` axes and the same size.
class FormArguments {
 public:
  FormArguments(const char* function, const char* left_name, nanobind::handle left, const char* right_name,
                nanobind::handle right, nanobind::handle masks, std::size_t ndim);

  const Form& form() const { return form_; }
  std::size_t count() const { return left_.size(); }
  std::size_t size() const { return left_[0].size(); }  // words of every array
  void require_size(std::size_t size) const { left_[0].require_size(size); }
  std::size_t half() const;  // of the size, which is even
  const WordArray& first() const { return left_[0]; }
  void require_apart_from(const WordArray& out) const;

 private:
  const char* function_;
  const char* left_name_;
  Arrays left_, right_;
  Form form_;
};

// Half of the size of an array, which must be even.
std::size_t checked_half(const char* function, const char* name, const WordArray& array);

}  // namespace cofit
