#include "arguments.hpp"

#include <cstring>

#include "dispatch.hpp"

namespace nb = nanobind;

namespace cofit {
namespace {

std::string message(const char* function, const std::string& name, const std::string& must_be,
                    const std::string& got) {
  return "The '" + name + "' parameter of " + function + " must be " + must_be + ". Got " + got + " instead.";
}

std::string text(nb::handle object, const char* attribute) {
  const nb::object value = nb::getattr(object, attribute);
  return nb::str(value).c_str();
}

std::string describe(nb::handle object) {
  if (nb::hasattr(object, "dtype") && nb::hasattr(object, "shape"))
    return "an array of " + text(object, "dtype") + " with shape " + text(object, "shape");
  return "an object of type " + text(object.type(), "__name__");
}

// Go past one of the letters, with or without a sign of byte order, or past a whole text; false if it is not there.
bool past_letter(const char*& format, const char* letters) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  return *format != '\0' && std::strchr(letters, *format++) != nullptr;
}
bool past_text(const char*& format, const char* text) {
  const std::size_t length = std::strlen(text);
  const bool there = std::strncmp(format, text, length) == 0;
  format += there ? length : 0;
  return there;
}

}  // namespace

bool has_kind(const Py_buffer& buffer, char kind, bool pairs) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  if (kind == 'B') return past_letter(format, "B") && *format == '\0';
  if (pairs && past_text(format, "T{"))
    return past_letter(format, "QL") && past_text(format, ":lo:") && past_letter(format, "QL") &&
           past_text(format, ":hi:}") && *format == '\0' && buffer.itemsize == 2 * sizeof(Word);
  return past_letter(format, "QL") && *format == '\0' && buffer.itemsize == sizeof(Word);
}

void refuse_type(const char* function, const std::string& name, const std::string& must_be, nb::handle got) {
  throw nb::type_error(message(function, name, must_be, describe(got)).c_str());
}

void refuse_value(const char* function, const std::string& name, const std::string& must_be,
                  const std::string& got) {
  throw nb::value_error(message(function, name, must_be, got).c_str());
}

ArrayView::ArrayView(const char* function, ArgumentName name, nb::handle object, char kind, std::size_t ndim,
                     Access access)
    : function_(function), name_(name), unit_(kind == 'B' ? 1 : sizeof(Word)), flat_(ndim == kAnyShape) {
  const char* const wanted = kind == 'B' ? "a NumPy array of uint8" : "a NumPy array of uint64";
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    refuse_type(function_, name_.text(), wanted, object);
  }
  // The destructor does not run when the constructor throws.
  struct Release {
    Py_buffer* buffer;
    ~Release() {
      if (buffer != nullptr) PyBuffer_Release(buffer);
    }
  } release{&buffer_};
  if (!has_kind(buffer_, kind, flat_)) refuse_type(function_, name_.text(), wanted, object);
  if (!flat_ && static_cast<std::size_t>(buffer_.ndim) != ndim)
    refuse_value(function_, name_.text(), "an array with " + std::to_string(ndim) + (ndim == 1 ? " axis" : " axes"),
                 describe(object));
  if (!PyBuffer_IsContiguous(&buffer_, 'C'))
    refuse_value(function_, name_.text(), "a C-contiguous array", "one with other strides");
  if (reinterpret_cast<std::uintptr_t>(buffer_.buf) % unit_ != 0)
    refuse_value(function_, name_.text(), "an aligned array", "one that starts inside a word");
  if (access == Access::write && buffer_.readonly)
    refuse_value(function_, name_.text(), "a writable array", "a read-only one");
  release.buffer = nullptr;
}

ArrayView::ArrayView(ArrayView&& other) noexcept
    : function_(other.function_), name_(other.name_), buffer_(other.buffer_), unit_(other.unit_), flat_(other.flat_) {
  other.buffer_.obj = nullptr;  // makes its release do nothing
}

ArrayView::~ArrayView() { PyBuffer_Release(&buffer_); }

std::string ArrayView::shape_text() const {
  return flat_ ? "of " + std::to_string(size()) + " words" : buffer_.ndim == 1 ? "(" + std::to_string(shape(0)) + ",)"
                           : "(" + std::to_string(shape(0)) + ", " + std::to_string(shape(1)) + ")";
}

void ArrayView::require_size(std::size_t expected) const {
  if (size() != expected)
    refuse_value(function_, name_.text(), "an array of shape (" + std::to_string(expected) + ",)",
                 "shape " + shape_text());
}

void ArrayView::require_shape(std::size_t rows, std::size_t cols) const {
  if (shape(0) != rows || shape(1) != cols)
    refuse_value(function_, name_.text(),
                 "an array of shape (" + std::to_string(rows) + ", " + std::to_string(cols) + ")",
                 "shape " + shape_text());
}

bool ArrayView::overlaps(const ArrayView& other) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer_.buf);
  const auto other_begin = reinterpret_cast<std::uintptr_t>(other.buffer_.buf);
  return begin < other_begin + static_cast<std::size_t>(other.buffer_.len) &&
         other_begin < begin + static_cast<std::size_t>(buffer_.len);
}

void ArrayView::require_apart_from(const ArrayView& input) const {
  if (overlaps(input))
    refuse_value(function_, name_.text(), "memory of its own", "memory that overlaps '" + input.name_.text() + "'");
}

void ArrayView::require_same_or_apart_from(const ArrayView& input) const {
  if (buffer_.buf != input.buffer_.buf && overlaps(input))
    refuse_value(function_, name_.text(), "memory of its own or exactly that of an input",
                 "memory that partly overlaps '" + input.name_.text() + "'");
}

std::size_t WordArray::elements(std::size_t words) const {
  const std::size_t along = flat_ ? size() : shape(static_cast<std::size_t>(buffer_.ndim) - 1);
  if (along % words != 0)
    refuse_value(function_, name_.text(), "an array of whole elements (" + std::to_string(words) + " words each)",
                 std::to_string(along) + " words along the last axis");
  return along / words;
}

std::vector<WordArray> word_arrays(const char* function, const char* name, nb::handle object,
                                   std::size_t ndim, std::size_t most, Access access) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object))
    refuse_type(function, name, "a list of NumPy arrays", object);
  const std::size_t count = nb::len(object);
  if (count < 1 || count > most)
    refuse_value(function, name, "a list of 1 to " + std::to_string(most) + " arrays",
                 std::to_string(count) + " arrays");
  std::vector<WordArray> arrays;
  arrays.reserve(count);
  for (std::size_t t = 0; t < count; ++t)
    arrays.emplace_back(function, ArgumentName(name, t), object[t], ndim, access);
  return arrays;
}

void require_same_length(const char* function, const char* name, std::size_t length, std::size_t expected) {
  if (length != expected)
    refuse_value(function, name, "a list of " + std::to_string(expected) + " arrays, one for each term",
                 std::to_string(length) + " arrays");
}

std::size_t checked_words(const char* function, int words) {
  if (words != 1 && words != 2)
    refuse_value(function, "words", "1 (Z_2^64) or 2 (Z_2^128)", std::to_string(words));
  return static_cast<std::size_t>(words);
}

std::size_t checked_threads(const char* function, int threads) {
  if (threads < 0 || threads > static_cast<int>(kMaxThreads))
    refuse_value(function, "threads", "a number from 0 (the default) to " + std::to_string(kMaxThreads),
                 std::to_string(threads));
  return threads == 0 ? default_threads() : static_cast<std::size_t>(threads);
}

}  // namespace cofit
