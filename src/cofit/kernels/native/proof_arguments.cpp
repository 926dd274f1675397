#include "proof_arguments.hpp"

namespace nb = nanobind;

namespace cofit {
namespace {

std::string text_of(nb::handle object) { return nb::str(object).c_str(); }

}  // namespace

Word checked_word(const char* function, ArgumentName name, nb::handle object, Word most) {
  PyObject* const index = PyNumber_Index(object.ptr());
  if (index == nullptr) {
    PyErr_Clear();
    refuse_type(function, name.text(), "an integer", object);
  }
  const nb::object number = nb::steal(index);
  const unsigned long long value = PyLong_AsUnsignedLongLong(index);
  const bool failed = value == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (failed || value > most)
    refuse_value(function, name.text(), "a number from 0 to " + std::to_string(most), text_of(number));
  return value;
}

Prime checked_prime(const char* function, nb::handle object) {
  const Word p = checked_word(function, "prime", object, ~Word{0});
  if (p <= Word{1} << 60 || p >= Word{1} << 61 || p % 2 == 0)
    refuse_value(function, "prime", "an odd number between 2^60 and 2^61", std::to_string(p));
  Prime prime;
  prime.p = p;
  prime.inverse = static_cast<Word>((static_cast<Wide>(1) << 124) / p);
  prime.power_64 = static_cast<Word>((static_cast<Wide>(1) << 64) % p);
  prime.power_128 = static_cast<Word>(static_cast<Wide>(prime.power_64) * prime.power_64 % p);
  return prime;
}

ByteArray checked_coefficients(const char* function, nb::handle object) {
  ByteArray coefficients(function, "coefficients", object, 2);
  coefficients.require_shape(coefficients.shape(0), kCoefficientBytes);
  return coefficients;
}

std::size_t checked_half(const char* function, const char* name, const WordArray& array) {
  if (array.size() % 2 != 0)
    refuse_value(function, name, "an array of two halves", std::to_string(array.size()) + " words");
  return array.size() / 2;
}

FormArguments::FormArguments(const char* function, const char* left_name, nb::handle left, const char* right_name,
                             nb::handle right, nb::handle masks, std::size_t ndim)
    : function_(function),
      left_name_(left_name),
      left_(word_arrays(function, left_name, left, ndim, kMaxForm)),
      right_(word_arrays(function, right_name, right, ndim, kMaxForm)) {
  require_same_length(function, right_name, right_.size(), left_.size());
  if (!nb::isinstance<nb::list>(masks) && !nb::isinstance<nb::tuple>(masks))
    refuse_type(function, "masks", "a list of integers", masks);
  if (nb::len(masks) != left_.size())
    refuse_value(function, "masks", "a list of " + std::to_string(left_.size()) + " integers, one for each array",
                 std::to_string(nb::len(masks)) + " integers");
  form_.rights = right_.size();
  for (std::size_t a = 0; a < left_.size(); ++a) {
    for (const WordArray* array : {&left_[a], &right_[a]}) {
      if (ndim == 2)
        array->require_shape(left_[0].shape(0), left_[0].shape(1));
      else
        array->require_size(size());
    }
    form_.right[a] = right_[a].data();
    const Word mask = checked_word(function, ArgumentName("masks", a), masks[a], (Word{1} << left_.size()) - 1);
    if (mask == 0) continue;
    form_.left[form_.lefts] = left_[a].data();
    form_.masks[form_.lefts++] = mask;
  }
}

std::size_t FormArguments::half() const { return checked_half(function_, left_name_, left_[0]); }

void FormArguments::require_apart_from(const WordArray& out) const {
  for (const Arrays* arrays : {&left_, &right_})
    for (const WordArray& array : *arrays) out.require_apart_from(array);
}

}  // namespace cofit
