#include "combine.hpp"

#include "addends.hpp"
#include "arguments.hpp"
#include "combination.hpp"
#include "dispatch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

void py_combine(nb::object inputs_arg, nb::object coefficients_arg, nb::object outs_arg, int words_arg) {
  const char* const function = "combine";
  const std::size_t kind = kind_of(function, words_arg), words = words_of(kind);
  const Arrays inputs = word_arrays(function, "inputs", inputs_arg, kAnyShape, kMaxArrays);
  const Arrays outs = word_arrays(function, "outs", outs_arg, kAnyShape, kMaxArrays, Access::write);
  const WordArray coefficients(function, "coefficients", coefficients_arg, kAnyShape);
  coefficients.require_size(outs.size() * inputs.size() * words);
  const std::size_t n = inputs[0].elements(words);
  const Word* sources[kMaxArrays];
  Word* targets[kMaxArrays];
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    inputs[a].require_size(n * words);
    sources[a] = inputs[a].data();
  }
  for (std::size_t c = 0; c < outs.size(); ++c) {
    outs[c].require_size(n * words);
    for (const WordArray& input : inputs) outs[c].require_apart_from(input);
    for (std::size_t other = 0; other < c; ++other) outs[c].require_apart_from(outs[other]);
    targets[c] = outs[c].data();
  }
  const SortedCombination combination(coefficients.data(), inputs.size(), outs.size(), kind);
  nb::gil_scoped_release unlocked;
  current_kernels().combine[kind](combination.view(), sources, n, targets);
}

void py_bilinear(nb::object a_arg, nb::object b_arg, nb::object coefficients_arg, nb::object plus_arg,
                 nb::object minus_arg, nb::object out_arg, int words_arg) {
  const char* const function = "bilinear";
  const std::size_t kind = kind_of(function, words_arg), words = words_of(kind);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const std::size_t n = out.elements(words);
  const Arrays a = word_arrays(function, "a", a_arg, kAnyShape), b = word_arrays(function, "b", b_arg, kAnyShape);
  const Word *left[kMaxTerms], *right[kMaxTerms];
  const auto checked = [&](const Arrays& arrays, const Word** data) {
    for (std::size_t t = 0; t < arrays.size(); ++t) {
      arrays[t].require_size(n * words);
      out.require_same_or_apart_from(arrays[t]);
      data[t] = arrays[t].data();
    }
  };
  checked(a, left);
  checked(b, right);
  const WordArray coefficients(function, "coefficients", coefficients_arg, kAnyShape);
  coefficients.require_size(a.size() * b.size() * words);
  const Arrays plus = addends_of(function, "plus", plus_arg, out), minus = addends_of(function, "minus", minus_arg, out);
  const Addends addends = pointers(plus, minus);
  const SortedCombination combination(coefficients.data(), b.size(), a.size(), kind);
  nb::gil_scoped_release unlocked;
  current_kernels().bilinear[kind](combination.view(), left, right, addends, n, out.data());
}

}  // namespace

void def_combine(nb::module_& m) {
  m.def("combine", &py_combine, "inputs"_a.none(), "coefficients"_a.none(), "outs"_a.none(), "words"_a.noconvert());
  m.def("bilinear", &py_bilinear, "a"_a.none(), "b"_a.none(), "coefficients"_a.none(), "plus"_a.none(),
        "minus"_a.none(), "out"_a.none(), "words"_a.noconvert());
}

}  // namespace cofit
