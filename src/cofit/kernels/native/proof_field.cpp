#include "dispatch.hpp"
#include "proof.hpp"
#include "proof_arguments.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

void py_field_weights(nb::object coefficients_arg, nb::object sigma_arg, nb::object prime_arg, nb::object out_arg) {
  const char* const function = "field_weights";
  const ByteArray coefficients = checked_coefficients(function, coefficients_arg);
  const WordArray sigma(function, "sigma", sigma_arg, 1), out(function, "out", out_arg, 1, Access::write);
  const Prime prime = checked_prime(function, prime_arg);
  sigma.require_size(kSums);
  out.require_size(coefficients.shape(0));
  out.require_apart_from(coefficients);
  out.require_apart_from(sigma);
  nb::gil_scoped_release unlocked;
  current_kernels().proof.field_weights(coefficients.data(), out.size(), sigma.data(), prime, out.data());
}

void py_field_scale(nb::object values_arg, nb::object weights_arg, long long terms_arg, nb::object prime_arg,
                    nb::object out_arg, int words_arg) {
  const char* const function = "field_scale";
  const std::size_t words = checked_words(function, words_arg);
  const Prime prime = checked_prime(function, prime_arg);
  const WordArray values(function, "values", values_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = values.elements(words);
  if (terms_arg < 1 || n % static_cast<std::size_t>(terms_arg) != 0)
    refuse_value(function, "terms", "a number from 1 that divides that of the elements", std::to_string(terms_arg));
  const std::size_t terms = static_cast<std::size_t>(terms_arg);
  out.require_size(n);
  if (words == 1)
    out.require_same_or_apart_from(values);
  else
    out.require_apart_from(values);
  const bool weighted = !weights_arg.is_none();
  const WordArray weights(function, "weights", weighted ? weights_arg : out_arg, kAnyShape);
  if (weighted) {
    weights.require_size(n / terms);
    out.require_apart_from(weights);
  }
  nb::gil_scoped_release unlocked;
  current_kernels().proof.field_scale[words - 1](values.data(), weighted ? weights.data() : nullptr, n / terms, terms,
                                                 prime, out.data());
}

void py_field_combine(nb::object values_arg, nb::object sigma_arg, nb::object prime_arg, nb::object out_arg,
                      int words_arg) {
  const char* const function = "field_combine";
  const std::size_t words = checked_words(function, words_arg);
  const Prime prime = checked_prime(function, prime_arg);
  const WordArray values(function, "values", values_arg, 2), sigma(function, "sigma", sigma_arg, 2);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t count = values.shape(0), n = values.elements(words), rows = sigma.shape(0);
  sigma.require_shape(rows, count);
  out.require_shape(rows, n);
  out.require_apart_from(values);
  out.require_apart_from(sigma);
  nb::gil_scoped_release unlocked;
  for (std::size_t r = 0; r < rows; ++r)
    current_kernels().proof.field_combine[words - 1](values.data(), count, n, sigma.data() + r * count, prime,
                                                     out.data() + r * n);
}

void py_field_fold(nb::object x_arg, nb::object r_arg, nb::object prime_arg, nb::object out_arg) {
  const char* const function = "field_fold";
  const Prime prime = checked_prime(function, prime_arg);
  const Word r = checked_word(function, "r", r_arg, prime.p - 1);
  const WordArray x(function, "x", x_arg, 1), out(function, "out", out_arg, 1, Access::write);
  const std::size_t half = checked_half(function, "x", x);
  out.require_size(half);
  out.require_same_or_apart_from(x);
  nb::gil_scoped_release unlocked;
  current_kernels().proof.field_fold(x.data(), half, r, prime, out.data());
}

nb::tuple py_field_halves(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg, nb::object prime_arg) {
  const char* const function = "field_halves";
  const FormArguments arguments(function, "xs", xs_arg, "ys", ys_arg, masks_arg, kAnyShape);
  const Prime prime = checked_prime(function, prime_arg);
  const std::size_t half = arguments.half();
  Word result[2];
  {
    nb::gil_scoped_release unlocked;
    current_kernels().proof.field_halves(arguments.form(), half, prime, result);
  }
  return nb::make_tuple(result[0], result[1]);
}

Word py_field_form(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg, nb::object prime_arg) {
  const char* const function = "field_form";
  const FormArguments arguments(function, "xs", xs_arg, "ys", ys_arg, masks_arg, kAnyShape);
  const Prime prime = checked_prime(function, prime_arg);
  nb::gil_scoped_release unlocked;
  return current_kernels().proof.field_form(arguments.form(), arguments.size(), prime);
}

}  // namespace

void def_proof_field(nb::module_& m) {
  m.def("field_weights", &py_field_weights, "coefficients"_a.none(), "sigma"_a.none(), "prime"_a.none(), "out"_a.none());
  m.def("field_scale", &py_field_scale, "values"_a.none(), "weights"_a.none(), "terms"_a.noconvert(), "prime"_a.none(),
        "out"_a.none(), "words"_a.noconvert());
  m.def("field_combine", &py_field_combine, "values"_a.none(), "sigma"_a.none(), "prime"_a.none(), "out"_a.none(),
        "words"_a.noconvert());
  m.def("field_fold", &py_field_fold, "x"_a.none(), "r"_a.none(), "prime"_a.none(), "out"_a.none());
  m.def("field_halves", &py_field_halves, "xs"_a.none(), "ys"_a.none(), "masks"_a.none(), "prime"_a.none());
  m.def("field_form", &py_field_form, "xs"_a.none(), "ys"_a.none(), "masks"_a.none(), "prime"_a.none());
}

}  // namespace cofit
