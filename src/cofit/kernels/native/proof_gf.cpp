#include "dispatch.hpp"
#include "proof.hpp"
#include "proof_arguments.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

constexpr Word kLargest = ~Word{0};

// The baseline takes portable products; the others those that this CPU has.
const GfKernels& gf_kernels() {
#if defined(__x86_64__)
  const Kernels* const chosen = &current_kernels();
  __builtin_cpu_init();
  static const bool carryless = __builtin_cpu_supports("pclmul");
  static const bool wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("gfni") &&
                           __builtin_cpu_supports("avx512vbmi");
  if (chosen == &kAvx512Kernels && wide) return kVpclmulGfKernels;
  if (chosen != &kBaselineKernels && carryless) return kPclmulGfKernels;
#endif
  return kPortableGfKernels;
}

Word py_gf_mul(nb::object a_arg, nb::object b_arg) {
  const Word a = checked_word("gf_mul", "a", a_arg, kLargest), b = checked_word("gf_mul", "b", b_arg, kLargest);
  return gf_kernels().mul(a, b);
}

void py_gf_scale(nb::object values_arg, nb::object weights_arg, nb::object out_arg) {
  const char* const function = "gf_scale";
  const WordArray values(function, "values", values_arg, 1), weights(function, "weights", weights_arg, 1);
  const WordArray out(function, "out", out_arg, 1, Access::write);
  const std::size_t n = values.size();
  const bool one_weight = weights.size() == 1 && n != 1;
  if (!one_weight) weights.require_size(n);
  out.require_size(n);
  out.require_same_or_apart_from(values);
  if (one_weight)
    out.require_apart_from(weights);
  else
    out.require_same_or_apart_from(weights);
  nb::gil_scoped_release unlocked;
  gf_kernels().scale(values.data(), weights.data(), one_weight, n, out.data());
}

void py_gf_fold(nb::object x_arg, nb::object r_arg, nb::object out_arg) {
  const char* const function = "gf_fold";
  const Word r = checked_word(function, "r", r_arg, kLargest);
  const WordArray x(function, "x", x_arg, 1), out(function, "out", out_arg, 1, Access::write);
  const std::size_t half = checked_half(function, "x", x);
  out.require_size(half);
  out.require_same_or_apart_from(x);
  nb::gil_scoped_release unlocked;
  gf_kernels().fold(x.data(), half, r, out.data());
}

nb::tuple py_gf_halves(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg) {
  const FormArguments arguments("gf_halves", "xs", xs_arg, "ys", ys_arg, masks_arg, kAnyShape);
  const std::size_t half = arguments.half();
  Word result[2];
  {
    nb::gil_scoped_release unlocked;
    gf_kernels().halves(arguments.form(), half, result);
  }
  return nb::make_tuple(result[0], result[1]);
}

Word py_gf_form(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg) {
  const FormArguments arguments("gf_form", "xs", xs_arg, "ys", ys_arg, masks_arg, kAnyShape);
  nb::gil_scoped_release unlocked;
  return gf_kernels().form(arguments.form(), arguments.size());
}

void py_bit_grid(nb::object xs_arg, nb::object ys_arg, nb::object masks_arg, nb::object beta_arg, nb::object omega_arg,
                 nb::object out_arg) {
  const char* const function = "bit_grid";
  const FormArguments arguments(function, "xs", xs_arg, "ys", ys_arg, masks_arg, 2);
  const WordArray beta(function, "beta", beta_arg, 1), omega(function, "omega", omega_arg, 1);
  const WordArray out(function, "out", out_arg, 1, Access::write);
  arguments.first().require_shape(kGridRows, omega.size());
  beta.require_size(kWordBits);
  out.require_size(kGridPoints);
  arguments.require_apart_from(out);
  out.require_apart_from(beta);
  out.require_apart_from(omega);
  nb::gil_scoped_release unlocked;
  gf_kernels().bit_grid(arguments.form(), omega.size(), beta.data(), omega.data(), out.data());
}

// Rows of bits, and one element for each.
void require_rows(const char* function, const WordArray& rows, const WordArray& coefs) {
  if (rows.shape(0) < 1 || rows.shape(0) > kMaxGathered)
    refuse_value(function, "rows", "an array of 1 to " + std::to_string(kMaxGathered) + " rows",
                 std::to_string(rows.shape(0)) + " rows");
  coefs.require_size(rows.shape(0));
}

void py_bit_gather(nb::object rows_arg, nb::object coefs_arg, nb::object out_arg) {
  const char* const function = "bit_gather";
  const WordArray rows(function, "rows", rows_arg, 2), coefs(function, "coefs", coefs_arg, 1);
  const WordArray out(function, "out", out_arg, 1, Access::write);
  require_rows(function, rows, coefs);
  out.require_size(rows.shape(1) * kWordBits);
  out.require_apart_from(rows);
  out.require_apart_from(coefs);
  nb::gil_scoped_release unlocked;
  gf_kernels().bit_gather(rows.data(), rows.shape(0), rows.shape(1), coefs.data(), out.data());
}

Word py_bit_weighted(nb::object rows_arg, nb::object coefs_arg, nb::object beta_arg, nb::object omega_arg) {
  const char* const function = "bit_weighted";
  const WordArray rows(function, "rows", rows_arg, 2), coefs(function, "coefs", coefs_arg, 1);
  const WordArray beta(function, "beta", beta_arg, 1), omega(function, "omega", omega_arg, 1);
  require_rows(function, rows, coefs);
  beta.require_size(kWordBits);
  omega.require_size(rows.shape(1));
  nb::gil_scoped_release unlocked;
  return gf_kernels().bit_weighted(rows.data(), rows.shape(0), rows.shape(1), coefs.data(), beta.data(), omega.data());
}

void py_gf_outer(nb::object omega_arg, nb::object beta_arg, nb::object x_arg, nb::object out_arg) {
  const char* const function = "gf_outer";
  const WordArray omega(function, "omega", omega_arg, 1), beta(function, "beta", beta_arg, 1);
  const WordArray x(function, "x", x_arg, 1), out(function, "out", out_arg, 1, Access::write);
  beta.require_size(kWordBits);
  x.require_size(omega.size() * kWordBits);
  out.require_size(x.size());
  out.require_same_or_apart_from(x);
  out.require_apart_from(omega);
  out.require_apart_from(beta);
  nb::gil_scoped_release unlocked;
  gf_kernels().outer(omega.data(), omega.size(), beta.data(), x.data(), out.data());
}

}  // namespace

void def_proof_gf(nb::module_& m) {
  m.def("gf_mul", &py_gf_mul, "a"_a.none(), "b"_a.none());
  m.def("gf_scale", &py_gf_scale, "values"_a.none(), "weights"_a.none(), "out"_a.none());
  m.def("gf_fold", &py_gf_fold, "x"_a.none(), "r"_a.none(), "out"_a.none());
  m.def("gf_halves", &py_gf_halves, "xs"_a.none(), "ys"_a.none(), "masks"_a.none());
  m.def("gf_form", &py_gf_form, "xs"_a.none(), "ys"_a.none(), "masks"_a.none());
  m.def("bit_grid", &py_bit_grid, "xs"_a.none(), "ys"_a.none(), "masks"_a.none(), "beta"_a.none(), "omega"_a.none(),
        "out"_a.none());
  m.def("bit_gather", &py_bit_gather, "rows"_a.none(), "coefs"_a.none(), "out"_a.none());
  m.def("bit_weighted", &py_bit_weighted, "rows"_a.none(), "coefs"_a.none(), "beta"_a.none(), "omega"_a.none());
  m.def("gf_outer", &py_gf_outer, "omega"_a.none(), "beta"_a.none(), "x"_a.none(), "out"_a.none());
}

}  // namespace cofit
