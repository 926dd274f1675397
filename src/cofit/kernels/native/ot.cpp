#include "ot.hpp"

#include <stdexcept>

#include "arguments.hpp"
#include "dispatch.hpp"
#include "ot_kernels.hpp"
#include "proof_arguments.hpp"
#include "thread_pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cofit {
namespace {

constexpr Word kMostPosition = Word{1} << 60;  // far from where a counter would come back to zero
constexpr std::size_t kPieceQuanta = 16, kPieceGroups = 64;

// The kernels of this CPU and of the chosen instruction set, or null.
const OtKernels* available_ot_kernels() {
#if defined(__x86_64__)
  const Kernels* const chosen = &current_kernels();
  __builtin_cpu_init();
  static const bool aes = __builtin_cpu_supports("aes");
  static const bool wide = __builtin_cpu_supports("vaes");
  if (chosen == &kAvx512Kernels && aes && wide) return &kVaesOtKernels;
  if (chosen != &kBaselineKernels && aes) return &kAesniOtKernels;
#endif
  return nullptr;
}

const OtKernels& ot_kernels(const char* function) {
  const OtKernels* const kernels = available_ot_kernels();
  if (kernels == nullptr)
    throw std::runtime_error(std::string(function) + " needs instructions for AES, which '" + current_kernels().name +
                             "' has not on this CPU. Ask aes_available first.");
  return *kernels;
}

void require_multiple(const char* function, const char* name, std::size_t rows, std::size_t of) {
  if (rows % of != 0)
    refuse_value(function, name, "an array of a multiple of " + std::to_string(of) + " rows",
                 std::to_string(rows) + " rows");
}

// Rows of two words.
std::size_t checked_rows(const char* function, const WordArray& rows, std::size_t multiple) {
  rows.require_shape(rows.shape(0), kRowWords);
  require_multiple(function, "rows", rows.shape(0), multiple);
  return rows.shape(0);
}

// body(begin, end) for pieces of 0 to count.
template <typename Body>
void in_pieces(std::size_t threads, std::size_t count, std::size_t size, Body body) {
  auto piece = [&](std::size_t number, std::size_t) {
    const std::size_t begin = number * size;
    body(begin, count - begin < size ? count : begin + size);
  };
  for_pieces(threads, (count + size - 1) / size, piece);
}

void py_aes_schedules(nb::object keys_arg, nb::object out_arg) {
  const char* const function = "aes_schedules";
  const OtKernels& kernels = ot_kernels(function);
  const ByteArray keys(function, "keys", keys_arg, 2), out(function, "out", out_arg, 2, Access::write);
  keys.require_shape(keys.shape(0), kKeyBytes);
  out.require_shape(keys.shape(0), kScheduleBytes);
  out.require_apart_from(keys);
  nb::gil_scoped_release unlocked;
  kernels.schedules(keys.data(), keys.shape(0), out.data());
}

void py_ot_chooser(nb::object schedules_arg, nb::object position_arg, nb::object rows_arg, nb::object choices_arg,
                   nb::object corrections_arg, int threads_arg) {
  const char* const function = "ot_chooser";
  const OtKernels& kernels = ot_kernels(function);
  const std::size_t threads = checked_threads(function, threads_arg);
  const Word position = checked_word(function, "position", position_arg, kMostPosition);
  const ByteArray schedules(function, "schedules", schedules_arg, 2);
  const WordArray rows(function, "rows", rows_arg, 2, Access::write);
  const WordArray choices(function, "choices", choices_arg, 1, Access::write);
  const ByteArray corrections(function, "corrections", corrections_arg, 1, Access::write);
  const std::size_t quanta = checked_rows(function, rows, kQuantum) / kQuantum;
  schedules.require_shape(kTrees * kLeaves, kScheduleBytes);
  choices.require_size(quanta * kQuantumWords);
  corrections.require_size(quanta * kCorrectionBytes);
  for (const ArrayView* out : {static_cast<const ArrayView*>(&rows), static_cast<const ArrayView*>(&choices),
                               static_cast<const ArrayView*>(&corrections)})
    out->require_apart_from(schedules);
  rows.require_apart_from(choices);
  rows.require_apart_from(corrections);
  choices.require_apart_from(corrections);
  nb::gil_scoped_release unlocked;
  in_pieces(threads, quanta, kPieceQuanta, [&](std::size_t begin, std::size_t end) {
    kernels.chooser(schedules.data(), position, begin, end, rows.data(), choices.data(), corrections.data());
  });
}

void py_ot_sender(nb::object schedules_arg, nb::object delta_arg, nb::object position_arg, nb::object corrections_arg,
                  nb::object rows_arg, int threads_arg) {
  const char* const function = "ot_sender";
  const OtKernels& kernels = ot_kernels(function);
  const std::size_t threads = checked_threads(function, threads_arg);
  const Word position = checked_word(function, "position", position_arg, kMostPosition);
  const ByteArray schedules(function, "schedules", schedules_arg, 2);
  const WordArray delta(function, "delta", delta_arg, 1);
  const ByteArray corrections(function, "corrections", corrections_arg, 1);
  const WordArray rows(function, "rows", rows_arg, 2, Access::write);
  const std::size_t quanta = checked_rows(function, rows, kQuantum) / kQuantum;
  schedules.require_shape(kTrees * kLeaves, kScheduleBytes);
  delta.require_size(kRowWords);
  corrections.require_size(quanta * kCorrectionBytes);
  rows.require_apart_from(schedules);
  rows.require_apart_from(delta);
  rows.require_apart_from(corrections);
  nb::gil_scoped_release unlocked;
  in_pieces(threads, quanta, kPieceQuanta, [&](std::size_t begin, std::size_t end) {
    kernels.sender(schedules.data(), delta.data(), position, begin, end, corrections.data(), rows.data());
  });
}

// What all hashes take, checked.
class HashArguments {
 public:
  HashArguments(const char* function, nb::object schedules, nb::object rows, nb::object delta, nb::object first,
                int threads)
      : kernels(ot_kernels(function)),
        threads(checked_threads(function, threads)),
        schedules_(function, "schedules", schedules, 2),
        rows_(function, "rows", rows, 2),
        delta_(function, "delta", delta, 1),
        first_(function, "first", first, 1),
        groups(checked_rows(function, rows_, kGroup) / kGroup) {
    delta_.require_size(kRowWords);
    first_.require_size(kRowWords);
    const std::size_t skipped = first_.data()[0] / kGroup % kKeyGroups;
    schedules_.require_shape((skipped + groups + kKeyGroups - 1) / kKeyGroups, kScheduleBytes);
    hashed = {schedules_.data(), skipped, rows_.data(), delta_.data(),
              static_cast<Wide>(first_.data()[1]) << 64 | first_.data()[0]};
  }

  void require_apart_from(const WordArray& out) const {
    out.require_apart_from(schedules_);
    out.require_apart_from(rows_);
    out.require_apart_from(delta_);
  }

  const OtKernels& kernels;
  const std::size_t threads;

 private:
  ByteArray schedules_;
  WordArray rows_, delta_, first_;

 public:
  const std::size_t groups;
  Hashed hashed;
};

using HashKernel = void (*OtKernels::*)(const Hashed&, std::size_t, std::size_t, Word*);

void run_hash(const HashArguments& arguments, HashKernel kernel, const WordArray& out) {
  arguments.require_apart_from(out);
  nb::gil_scoped_release unlocked;
  in_pieces(arguments.threads, arguments.groups, kPieceGroups, [&](std::size_t begin, std::size_t end) {
    (arguments.kernels.*kernel)(arguments.hashed, begin, end, out.data());
  });
}

void py_ot_hash_wide(nb::object schedules, nb::object rows, nb::object delta, nb::object first, nb::object out_arg,
                     int threads) {
  const HashArguments arguments("ot_hash_wide", schedules, rows, delta, first, threads);
  const WordArray out("ot_hash_wide", "out", out_arg, 2, Access::write);
  out.require_shape(arguments.groups * kGroup, kRowWords);
  run_hash(arguments, &OtKernels::hash_wide, out);
}

void py_ot_hash_words(nb::object schedules, nb::object rows, nb::object delta, nb::object first, nb::object out_arg,
                      int threads) {
  const HashArguments arguments("ot_hash_words", schedules, rows, delta, first, threads);
  const WordArray out("ot_hash_words", "out", out_arg, 1, Access::write);
  out.require_size(arguments.groups * kGroup);
  run_hash(arguments, &OtKernels::hash_words, out);
}

void py_ot_hash_bits(nb::object schedules, nb::object rows, nb::object delta, nb::object first, nb::object out_arg,
                     int threads) {
  const HashArguments arguments("ot_hash_bits", schedules, rows, delta, first, threads);
  const WordArray out("ot_hash_bits", "out", out_arg, 1, Access::write);
  out.require_size(arguments.groups);
  run_hash(arguments, &OtKernels::hash_bits, out);
}

void py_ot_hash_planes(nb::object schedules, nb::object rows, nb::object delta, nb::object first, nb::object out_arg,
                       int threads) {
  const char* const function = "ot_hash_planes";
  const HashArguments arguments(function, schedules, rows, delta, first, threads);
  const WordArray out(function, "out", out_arg, 2, Access::write);
  const std::size_t planes = out.shape(0);
  if (planes > kRowBits)
    refuse_value(function, "out", "an array of at most " + std::to_string(kRowBits) + " planes",
                 std::to_string(planes) + " planes");
  out.require_shape(planes, arguments.groups);
  arguments.require_apart_from(out);
  nb::gil_scoped_release unlocked;
  in_pieces(arguments.threads, arguments.groups, kPieceGroups, [&](std::size_t begin, std::size_t end) {
    arguments.kernels.hash_planes(arguments.hashed, begin, end, planes, arguments.groups, out.data());
  });
}

template <typename Function>
void def_hash(nb::module_& m, const char* name, Function function) {
  m.def(name, function, "schedules"_a.none(), "rows"_a.none(), "delta"_a.none(), "first"_a.none(), "out"_a.none(),
        "threads"_a.noconvert() = 0);
}

}  // namespace

void def_ot(nb::module_& m) {
  m.def("aes_available", [] { return available_ot_kernels() != nullptr; });
  m.def("aes_schedules", &py_aes_schedules, "keys"_a.none(), "out"_a.none());
  m.def("ot_chooser", &py_ot_chooser, "schedules"_a.none(), "position"_a.none(), "rows"_a.none(), "choices"_a.none(),
        "corrections"_a.none(), "threads"_a.noconvert() = 0);
  m.def("ot_sender", &py_ot_sender, "schedules"_a.none(), "delta"_a.none(), "position"_a.none(),
        "corrections"_a.none(), "rows"_a.none(), "threads"_a.noconvert() = 0);
  def_hash(m, "ot_hash_wide", &py_ot_hash_wide);
  def_hash(m, "ot_hash_words", &py_ot_hash_words);
  def_hash(m, "ot_hash_bits", &py_ot_hash_bits);
  def_hash(m, "ot_hash_planes", &py_ot_hash_planes);
}

}  // namespace cofit
