#include "rlwe.hpp"

#include <algorithm>

#include "rlwe_arguments.hpp"
#include "rlwe_field.hpp"
#include "rlwe_words.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

// Rows of residues in turn modulo every prime: how many times all of them.
std::size_t checked_rounds(const char* function, const char* name, const WordArray& array, std::size_t limbs,
                           std::size_t m) {
  const std::size_t whole = limbs * m;
  if (whole == 0 || array.size() % whole != 0)
    refuse_value(function, name, "an array of whole polynomials (" + std::to_string(whole) + " words each)",
                 std::to_string(array.size()) + " words");
  return array.size() / whole;
}

template <bool kForward>
void py_transform(nb::object values_arg, nb::object primes_arg, int degree) {
  const char* const function = kForward ? "rlwe_forward" : "rlwe_inverse";
  const Modulus modulus(function, primes_arg, degree);
  const WordArray values(function, "values", values_arg, kAnyShape, Access::write);
  const std::size_t n = modulus.n(), limbs = modulus.limbs();
  const std::size_t rounds = checked_rounds(function, "values", values, limbs, n);
  nb::gil_scoped_release unlocked;
  const auto transform = kForward ? modulus.kernels().forward : modulus.kernels().inverse;
  std::vector<Word> scratch(n);
  for (std::size_t i = 0; i < rounds * limbs; ++i)
    transform(modulus.prime(i % limbs), n, values.data() + i * n, scratch.data());
}

template <void (*kSample)(const Word*, std::size_t, Word*)>
void py_sample(const char* function, nb::object random_arg, nb::object out_arg) {
  const WordArray random(function, "random", random_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  out.require_size(random.size());
  out.require_same_or_apart_from(random);
  nb::gil_scoped_release unlocked;
  kSample(random.data(), random.size(), out.data());
}

void py_pack(nb::object values_arg, nb::object out_arg) {
  const WordArray values("rlwe_pack", "values", values_arg, 2);
  const ByteArray out("rlwe_pack", "out", out_arg, 1, Access::write);
  const std::size_t rows = values.shape(0), m = values.shape(1);
  out.require_size(rows * rlwe_packed_bytes(m));
  out.require_apart_from(values);
  nb::gil_scoped_release unlocked;
  for (std::size_t r = 0; r < rows; ++r) rlwe_pack(values.data() + r * m, m, out.data() + r * rlwe_packed_bytes(m));
}

std::size_t py_unpack(nb::object packed_arg, nb::object primes_arg, nb::object out_arg) {
  const char* const function = "rlwe_unpack";
  const std::vector<Word> primes = checked_primes(function, primes_arg);
  const ByteArray packed(function, "packed", packed_arg, 1);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t rows = out.shape(0), m = out.shape(1);
  packed.require_size(rows * rlwe_packed_bytes(m));
  out.require_apart_from(packed);
  nb::gil_scoped_release unlocked;
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < rows; ++r)
    wrong += rlwe_unpack(packed.data() + r * rlwe_packed_bytes(m), m, primes[r % primes.size()], out.data() + r * m);
  return wrong;
}

// Elements as planes of words, times q modulo 2^(64 words): what q m / 2^(64 words) is beyond an integer.
std::vector<Word> remainders(const WordArray& elements, const Modulus& modulus, std::size_t words) {
  Wide q = 1;
  for (std::size_t l = 0; l < modulus.limbs(); ++l) q *= modulus.prime(l).p;
  const std::size_t n = modulus.n();
  std::vector<Word> planes(words * n);
  for (std::size_t i = 0; i < n; ++i) {
    Wide x = elements.data()[words * i];
    if (words == 2) x |= static_cast<Wide>(elements.data()[2 * i + 1]) << 64;
    x *= q;
    for (std::size_t w = 0; w < words; ++w) planes[w * n + i] = static_cast<Word>(x >> (64 * w));
  }
  return planes;
}

void py_encrypt(nb::object elements_arg, nb::object small_arg, nb::object a_arg, nb::object s_arg,
                nb::object primes_arg, nb::object out_arg, int words_arg) {
  const char* const function = "rlwe_encrypt";
  const std::size_t words = checked_words(function, words_arg);
  const WordArray small(function, "small", small_arg, 1);
  const Modulus modulus(function, primes_arg, static_cast<int>(std::min<std::size_t>(small.size(), kMaxDegree + 1)));
  const std::size_t n = modulus.n(), limbs = modulus.limbs();
  const WordArray elements(function, "elements", elements_arg, kAnyShape);
  const WordArray a(function, "a", a_arg, 2), s(function, "s", s_arg, 2);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  elements.require_size(n * words);
  for (const WordArray* array : {&a, &s, &out}) array->require_shape(limbs, n);
  for (const WordArray* array : {&elements, &small, &a, &s}) out.require_apart_from(*array);
  nb::gil_scoped_release unlocked;
  const std::vector<Word> planes = remainders(elements, modulus, words);
  std::vector<Word> scratch(n);
  for (std::size_t l = 0; l < limbs; ++l) {
    const RlwePrime& prime = modulus.prime(l);
    Word factor[2];  // -1 / 2^(64 words)
    modulus.kernels().root(prime.p - rlwe_inverse(rlwe_power(2, 64 * words, prime.p), prime.p), prime.p, factor);
    modulus.kernels().encrypt(prime, n, planes.data(), words, factor, small.data(), a.data() + l * n, s.data() + l * n,
                              out.data() + l * n, scratch.data());
  }
}

void py_small(nb::object small_arg, nb::object primes_arg, nb::object out_arg) {
  const char* const function = "rlwe_small";
  const WordArray small(function, "small", small_arg, 1);
  const Modulus modulus(function, primes_arg, static_cast<int>(std::min<std::size_t>(small.size(), kMaxDegree + 1)));
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t n = modulus.n();
  out.require_shape(modulus.limbs(), n);
  out.require_apart_from(small);
  nb::gil_scoped_release unlocked;
  std::vector<Word> scratch(n);
  const Word factor[2] = {0, 0};
  for (std::size_t l = 0; l < modulus.limbs(); ++l)
    modulus.kernels().encrypt(modulus.prime(l), n, nullptr, 1, factor, small.data(), nullptr, nullptr,
                              out.data() + l * n, scratch.data());
}

void py_multiply(nb::object x_arg, long long rows_arg, long long width_arg, long long step_arg, nb::object requests_arg,
                 nb::object key_arg, nb::object small_arg, nb::object primes_arg, int degree, nb::object out_arg,
                 int words_arg) {
  const char* const function = "rlwe_multiply";
  RlweProducts products;
  products.words = checked_words(function, words_arg);
  const Modulus modulus(function, primes_arg, degree);
  const std::size_t n = products.n = modulus.n(), limbs = products.limbs = modulus.limbs();
  products.primes = modulus.primes();
  const ElementMatrix x(function, "x", x_arg, products.words);
  const auto most = static_cast<long long>(n);
  if (rows_arg < 1 || width_arg < 1 || step_arg < 1 || rows_arg > most || width_arg > most || step_arg > most ||
      (rows_arg - 1) * step_arg + width_arg > most || x.rows() < 1 || x.cols() < 1)
    refuse_value(function, "rows, width, step", "a block that fits the degree, of a matrix that is not empty",
                 std::to_string(rows_arg) + ", " + std::to_string(width_arg) + ", " + std::to_string(step_arg));
  const auto rows = static_cast<std::size_t>(rows_arg), width = static_cast<std::size_t>(width_arg);
  const auto step = static_cast<std::size_t>(step_arg);
  products.replies = (x.rows() + rows - 1) / rows;
  products.blocks = (x.cols() + width - 1) / width;
  products.active = kMinDegree;
  const std::size_t used = (std::min(rows, x.rows()) - 1) * step + width;
  while (products.active < used) products.active *= 2;
  const WordArray requests(function, "requests", requests_arg, kAnyShape), key(function, "key", key_arg, kAnyShape);
  const WordArray small(function, "small", small_arg, kAnyShape);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  requests.require_size(products.blocks * 2 * limbs * n);
  key.require_size(2 * limbs * n);
  small.require_size(products.replies * 3 * n);
  out.require_size(products.replies * 2 * limbs * n);
  for (const WordArray* array : {&requests, &key, &small}) out.require_apart_from(*array);
  nb::gil_scoped_release unlocked;
  const std::size_t whole = products.words * products.active;
  std::vector<Word> elements(products.replies * products.blocks * whole);
  for (std::size_t g = 0; g < products.replies; ++g)
    for (std::size_t k = 0; k < products.blocks; ++k)
      x.gather(g * rows, std::min(rows, x.rows() - g * rows), k * width, std::min(width, x.cols() - k * width), step,
               width, products.active, elements.data() + (g * products.blocks + k) * whole);
  std::vector<Word> scratch((2 * products.replies + 2) * n);
  products.elements = elements.data();
  products.requests = requests.data();
  products.key = key.data();
  products.small = small.data();
  products.out = out.data();
  products.scratch = scratch.data();
  modulus.kernels().multiply(products);
}

void py_phase(nb::object c_arg, nb::object s_arg, nb::object primes_arg, nb::object out_arg) {
  const char* const function = "rlwe_phase";
  const WordArray c(function, "c", c_arg, 2), s(function, "s", s_arg, 2);
  const Modulus modulus(function, primes_arg, static_cast<int>(std::min<std::size_t>(c.shape(1), kMaxDegree + 1)));
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t n = modulus.n(), limbs = modulus.limbs();
  for (const WordArray* array : {&c, &s, &out}) array->require_shape(limbs, n);
  out.require_same_or_apart_from(c);
  out.require_apart_from(s);
  nb::gil_scoped_release unlocked;
  std::vector<Word> scratch(n);
  for (std::size_t l = 0; l < limbs; ++l)
    modulus.kernels().phase(modulus.prime(l), n, c.data() + l * n, s.data() + l * n, out.data() + l * n,
                            scratch.data());
}

void py_round(nb::object values_arg, nb::object primes_arg, Word margin, nb::object out_arg, nb::object near_arg,
              int words_arg) {
  const char* const function = "rlwe_round";
  const std::size_t words = checked_words(function, words_arg);
  const std::vector<Word> primes = checked_primes(function, primes_arg);
  const WordArray values(function, "values", values_arg, 2);
  const WordArray out(function, "out", out_arg, kAnyShape, Access::write);
  const ByteArray near(function, "near", near_arg, 1, Access::write);
  const std::size_t m = values.shape(1);
  values.require_shape(primes.size(), m);
  out.require_size(m * words);
  near.require_size(m);
  if (margin >> 62 != 0) refuse_value(function, "margin", "a number below 2^62", std::to_string(margin));
  out.require_apart_from(values);
  near.require_apart_from(values);
  near.require_apart_from(out);
  nb::gil_scoped_release unlocked;
  rlwe_round(values.data(), primes.data(), primes.size(), m, words, margin, out.data(), near.data());
}

void py_drop(nb::object values_arg, nb::object primes_arg, nb::object out_arg) {
  const char* const function = "rlwe_drop";
  const std::vector<Word> primes = checked_primes(function, primes_arg);
  const WordArray values(function, "values", values_arg, 2), out(function, "out", out_arg, 2, Access::write);
  const std::size_t m = values.shape(1);
  values.require_shape(primes.size(), m);
  out.require_shape(primes.size() - 1, m);
  out.require_apart_from(values);
  nb::gil_scoped_release unlocked;
  rlwe_drop(values.data(), primes.data(), primes.size(), m, out.data());
}

}  // namespace

void def_rlwe(nb::module_& m) {
  m.def("rlwe_forward", &py_transform<true>, "values"_a.none(), "primes"_a.none(), "degree"_a.noconvert());
  m.def("rlwe_inverse", &py_transform<false>, "values"_a.none(), "primes"_a.none(), "degree"_a.noconvert());
  m.def(
      "rlwe_ternary",
      [](nb::object random, nb::object out) { py_sample<rlwe_ternary>("rlwe_ternary", random, out); },
      "random"_a.none(), "out"_a.none());
  m.def(
      "rlwe_binomial",
      [](nb::object random, nb::object out) { py_sample<rlwe_binomial>("rlwe_binomial", random, out); },
      "random"_a.none(), "out"_a.none());
  m.def("rlwe_pack", &py_pack, "values"_a.none(), "out"_a.none());
  m.def("rlwe_unpack", &py_unpack, "packed"_a.none(), "primes"_a.none(), "out"_a.none());
  m.def("rlwe_encrypt", &py_encrypt, "elements"_a.none(), "small"_a.none(), "a"_a.none(), "s"_a.none(),
        "primes"_a.none(), "out"_a.none(), "words"_a.noconvert());
  m.def("rlwe_small", &py_small, "small"_a.none(), "primes"_a.none(), "out"_a.none());
  m.def("rlwe_multiply", &py_multiply, "x"_a.none(), "rows"_a.noconvert(), "width"_a.noconvert(), "step"_a.noconvert(),
        "requests"_a.none(), "key"_a.none(), "small"_a.none(), "primes"_a.none(), "degree"_a.noconvert(),
        "out"_a.none(), "words"_a.noconvert());
  m.def("rlwe_phase", &py_phase, "c"_a.none(), "s"_a.none(), "primes"_a.none(), "out"_a.none());
  m.def("rlwe_round", &py_round, "values"_a.none(), "primes"_a.none(), "margin"_a.noconvert(), "out"_a.none(),
        "near"_a.none(), "words"_a.noconvert());
  m.def("rlwe_drop", &py_drop, "values"_a.none(), "primes"_a.none(), "out"_a.none());
}

}  // namespace cofit
