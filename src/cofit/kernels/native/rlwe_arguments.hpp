// Arguments that the kernels of RLWE encryption have in common.
#pragma once

#include <vector>

#include "arguments.hpp"
#include "rlwe_tables.hpp"

namespace cofit {

// The primes of a modulus, for polynomials of degree n; refused where they do not fit the transforms.
class Modulus {
 public:
  Modulus(const char* function, nanobind::handle primes, int degree);

  const RlweKernels& kernels() const { return kernels_; }
  std::size_t n() const { return n_; }
  std::size_t limbs() const { return primes_.size(); }
  const RlwePrime* primes() const { return primes_.data(); }
  const RlwePrime& prime(std::size_t limb) const { return primes_[limb]; }

 private:
  const RlweKernels& kernels_;
  std::size_t n_;
  std::vector<RlwePrime> primes_;
};

// Primes alone, for what works residue by residue.
std::vector<Word> checked_primes(const char* function, nanobind::handle primes);

// A matrix of ring elements with any strides, held for as long as the view lives: words, or records of two.
class ElementMatrix {
 public:
  ElementMatrix(const char* function, const char* name, nanobind::handle object, std::size_t words);
  ElementMatrix(const ElementMatrix&) = delete;
  ElementMatrix& operator=(const ElementMatrix&) = delete;
  ~ElementMatrix();

  std::size_t rows() const { return static_cast<std::size_t>(buffer_.shape[0]); }
  std::size_t cols() const { return static_cast<std::size_t>(buffer_.shape[1]); }
  // Write the elements [row + i, col + j] of a block at i * step + width - 1 - j of every plane, and zeros elsewhere.
  void gather(std::size_t row, std::size_t rows, std::size_t col, std::size_t cols, std::size_t step, std::size_t width,
              std::size_t plane, Word* out) const;

 private:
  Py_buffer buffer_;
  std::size_t words_;
};

}  // namespace cofit
