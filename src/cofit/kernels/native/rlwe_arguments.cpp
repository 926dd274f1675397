#include "rlwe_arguments.hpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace nb = nanobind;

namespace cofit {
namespace {

std::size_t checked_degree(const char* function, int degree) {
  const auto n = static_cast<std::size_t>(degree);
  if (degree < 0 || n < kMinDegree || n > kMaxDegree || (n & (n - 1)) != 0)
    refuse_value(function, "degree",
                 "a power of two from " + std::to_string(kMinDegree) + " to " + std::to_string(kMaxDegree),
                 std::to_string(degree));
  return n;
}

}  // namespace

std::vector<Word> checked_primes(const char* function, nb::handle object) {
  const WordArray primes(function, "primes", object, 1);
  if (primes.size() < 1 || primes.size() > kMaxLimbs)
    refuse_value(function, "primes", "an array of 1 to " + std::to_string(kMaxLimbs) + " primes",
                 std::to_string(primes.size()) + " numbers");
  for (std::size_t i = 0; i < primes.size(); ++i)
    if (primes.data()[i] >> (kResidueBits - 1) != 1 || primes.data()[i] % 2 == 0)
      refuse_value(function, "primes", "primes between 2^49 and 2^50", std::to_string(primes.data()[i]));
  return std::vector<Word>(primes.data(), primes.data() + primes.size());
}

Modulus::Modulus(const char* function, nb::handle object, int degree)
    : kernels_(rlwe_kernels()), n_(checked_degree(function, degree)) {
  const std::vector<Word> primes = checked_primes(function, object);
  try {
    primes_ = rlwe_primes(kernels_, primes.data(), primes.size(), n_);
  } catch (const std::invalid_argument& error) {
    refuse_value(function, "primes", "primes between 2^49 and 2^50 that are 1 modulo " + std::to_string(2 * n_),
                 error.what());
  }
}

ElementMatrix::ElementMatrix(const char* function, const char* name, nb::handle object, std::size_t words)
    : words_(words) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    refuse_type(function, name, "a NumPy array of ring elements", object);
  }
  bool fits = has_kind(buffer_, 'Q', true) && buffer_.ndim == 2 &&
              buffer_.itemsize == static_cast<Py_ssize_t>(words * sizeof(Word)) &&
              reinterpret_cast<std::uintptr_t>(buffer_.buf) % sizeof(Word) == 0;
  for (int axis = 0; fits && axis < 2; ++axis)
    fits = buffer_.strides[axis] % static_cast<Py_ssize_t>(sizeof(Word)) == 0;
  if (!fits) {
    PyBuffer_Release(&buffer_);
    refuse_value(function, name, "an aligned array with 2 axes of elements of " + std::to_string(words) + " words",
                 "another one");
  }
}

ElementMatrix::~ElementMatrix() { PyBuffer_Release(&buffer_); }

void ElementMatrix::gather(std::size_t row, std::size_t rows, std::size_t col, std::size_t cols, std::size_t step,
                           std::size_t width, std::size_t plane, Word* out) const {
  std::memset(out, 0, words_ * plane * sizeof(Word));
  const Py_ssize_t down = buffer_.strides[0] / static_cast<Py_ssize_t>(sizeof(Word));
  const Py_ssize_t across = buffer_.strides[1] / static_cast<Py_ssize_t>(sizeof(Word));
  const Word* const from = static_cast<const Word*>(buffer_.buf) + static_cast<Py_ssize_t>(row) * down +
                           static_cast<Py_ssize_t>(col) * across;
  for (std::size_t w = 0; w < words_; ++w) {
    const auto copy = [&](std::size_t i, std::size_t j) {
      out[w * plane + i * step + width - 1 - j] =
          from[static_cast<Py_ssize_t>(i) * down + static_cast<Py_ssize_t>(j) * across + static_cast<Py_ssize_t>(w)];
    };
    if (std::abs(across) <= std::abs(down)) {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < cols; ++j) copy(i, j);
    } else {
      for (std::size_t j = 0; j < cols; ++j)
        for (std::size_t i = 0; i < rows; ++i) copy(i, j);
    }
  }
}

}  // namespace cofit
