// The kernels of truncations and clips against naive references: numbers of a few bytes, masked openings, carries.
#include "check_support.hpp"

namespace cofit {
namespace {

// Number i of those that lie next to each other in words.
Wide number_at(const Word* packed, std::size_t bytes, std::size_t i) {
  const unsigned char* const from = reinterpret_cast<const unsigned char*>(packed) + i * bytes;
  Wide value = 0;
  for (std::size_t b = bytes; b-- > 0;) value = (value << 8) | from[b];
  return value;
}

std::size_t words_of(std::size_t bytes, std::size_t n) { return (bytes * n + 7) / 8; }

Wide kept(std::size_t bytes) { return bytes == sizeof(Wide) ? ~Wide{0} : (Wide{1} << (8 * bytes)) - 1; }

// The numbers are as expected, and what is left of the last word is that of ``fill``.
template <typename Expected>
void expect_numbers(const Buffer& got, const Buffer& fill, std::size_t bytes, std::size_t n, const char* what,
                    std::size_t words, Expected expected) {
  for (std::size_t i = 0; i < n; ++i)
    expect(number_at(got.data.get(), bytes, i) == (expected(i) & kept(bytes)), what, words, n, i, bytes);
  const auto *mine = reinterpret_cast<const unsigned char*>(got.data.get()),
             *theirs = reinterpret_cast<const unsigned char*>(fill.data.get());
  for (std::size_t place = n * bytes; place < 8 * got.size; ++place)
    expect(mine[place] == theirs[place], what, words, n, place, bytes);
}

bool bit_at(const Buffer& bits, std::size_t i) { return (bits.data[i / 64] >> (i % 64)) & 1; }

}  // namespace

void check_narrow(const Kernels& k, std::size_t words) {
  const std::size_t w = words - 1;
  const unsigned width = static_cast<unsigned>(64 * words);
  const Wide ones = words == 1 ? Wide{~Word{0}} : ~Wide{0};
  for (std::size_t n : {0, 1, 5, 127, 128, 129, 1027})
    for (unsigned shift : {1u, 8u, 9u, 31u, 32u, 40u, 63u, width - 1}) {
      const std::size_t bytes = (shift + 7) / 8, packed = words_of(bytes, n);
      Buffer a(n * words), b(n * words), c(n * words), out(n * words, false);
      Buffer top(packed), hidden(packed), high(packed, false);
      const auto at = [&](const Buffer& buffer, std::size_t i) { return buffer.get(i, words); };
      const auto number = [&](const Buffer& buffer, std::size_t i) { return number_at(buffer.data.get(), bytes, i); };
      const auto all = [&](const char* what, auto expected) {
        for (std::size_t i = 0; i < n; ++i) expect(out.holds(i, expected(i), words), what, words, n, i, shift);
      };
      const Word *pa = a.data.get(), *pb = b.data.get(), *pc = c.data.get();
      const Word *pt = top.data.get(), *ph = hidden.data.get();

      k.narrow[w](pa, bytes, ph, n, high.data.get());
      expect_numbers(high, hidden, bytes, n, "narrow", words, [&](std::size_t i) { return at(a, i); });
      k.widen[w](pt, bytes, n, out.data.get());
      all("widen", [&](std::size_t i) { return number(top, i); });

      const auto mask = [&](std::size_t i) { return (at(a, i) + at(b, i)) & ones; };
      k.mask_parts[w](pa, pb, pc, pt, shift, n, out.data.get(), high.data.get());
      all("mask_parts", [&](std::size_t i) { return Wide{0} - (mask(i) >> shift) - at(c, i); });
      expect_numbers(high, top, bytes, n, "mask_parts, top", words,
                     [&](std::size_t i) { return (mask(i) >> (width - 1)) - number(top, i); });

      Addends addends;
      addends.plus[0] = pa, addends.plus[1] = pb, addends.minus[0] = pc;
      addends.plus_count = 2, addends.minus_count = 1;
      const Wide offset = Wide{1} << (width - 2);
      const auto opened = [&](std::size_t i) { return (at(a, i) + at(b, i) - at(c, i) + offset) & ones; };
      k.open_masked[w](addends, pt, ph, shift, n, out.data.get(), high.data.get());
      all("open_masked", [&](std::size_t i) { return (opened(i) >> shift) - (offset >> shift); });
      expect_numbers(high, hidden, bytes, n, "open_masked, high", words, [&](std::size_t i) {
        return (opened(i) >> (width - 1) ? Wide{0} : number(top, i)) - number(hidden, i);
      });

      const Word* parts[] = {pt, ph, pt};
      for (std::size_t count : {1, 2, 3}) {
        k.add_high[w](pa, parts, count, shift, n, out.data.get());
        all("add_high", [&](std::size_t i) {
          const Wide sum = number(top, i) * (count == 3 ? 2 : 1) + (count > 1 ? number(hidden, i) : 0);
          return at(a, i) + (sum << (width - shift));
        });
      }
    }
}

void check_clips(const Kernels& k, std::size_t words) {
  const std::size_t w = words - 1;
  const unsigned width = static_cast<unsigned>(64 * words);
  const Wide ones = words == 1 ? Wide{~Word{0}} : ~Wide{0};
  for (std::size_t n : {0, 1, 5, 63, 64, 65, 1027})
    for (unsigned shift : {0u, 1u, 31u, 63u, width - 1}) {
      const std::size_t rows = shift == 0 ? 4 : 6;
      Buffer mask(n * words), inside((n + 63) / 64), below((n + 63) / 64), out(rows * n * words, false);
      std::vector<Buffer> hidden;
      std::vector<const Word*> less;
      for (std::size_t row = 0; row < rows; ++row) hidden.emplace_back(n * words);
      for (const Buffer& row : hidden) less.push_back(row.data.get());
      const auto of_row = [&](std::size_t row, std::size_t i) { return hidden[row].get(i, words); };
      k.clip_deal[w](mask.data.get(), inside.data.get(), below.data.get(), less.data(), shift, n, out.data.get());
      for (std::size_t i = 0; i < n; ++i) {
        const Wide r = mask.get(i, words) & ones, chosen = bit_at(inside, i), q = r >> shift, top = r >> (width - 1);
        const Wide wanted[] = {chosen,     Wide{bit_at(below, i)}, q * chosen, q * (1 - chosen),
                               top * chosen, top * (1 - chosen)};
        for (std::size_t row = 0; row < rows; ++row)
          expect(out.holds(row * n + i, wanted[row] - of_row(row, i), words), "clip_deal", words, n, i, shift);
      }
      const Buffer share(n * words), ends(2 * words);
      Buffer product(n * words, false);
      const Wide lower = ends.get(0, words), upper = ends.get(1, words), offset = (Wide{1} << (width - 2)) >> shift;
      for (bool first : {false, true}) {
        k.clip_products[w](mask.data.get(), inside.data.get(), below.data.get(), less.data(), share.data.get(),
                           ends.data.get(), shift, first, n, product.data.get());
        for (std::size_t i = 0; i < n; ++i) {
          const Wide c = mask.get(i, words) & ones, one = first ? 1 : 0;
          const bool chosen = bit_at(inside, i), under = bit_at(below, i);
          const Wide of_i = chosen ? one - of_row(0, i) : of_row(0, i), of_n = under ? one - of_row(1, i) : of_row(1, i);
          Wide value = of_i * ((c >> shift) - offset - upper) - of_row(chosen ? 3 : 2, i) - of_n * (upper - lower) +
                       one * upper - share.get(i, words);
          if (shift != 0 && !(c >> (width - 1))) value += of_row(chosen ? 5 : 4, i) << (width - shift);
          expect(product.holds(i, value, words), "clip_products", words, n, i, shift);
        }
      }
    }
}

void check_carries(const Kernels& k) {
  constexpr std::size_t kBits = 4, kEntries = 15, kAll = 16;
  for (std::size_t groups : {1, 2, 5})
    for (std::size_t words : {1, 31, 32, 33, 70}) {
      const Buffer planes(kBits * groups * words);
      const auto digit = [&](const Buffer& from, std::size_t first, std::size_t i) {  // of four planes
        std::size_t value = 0;
        for (std::size_t bit = 0; bit < kBits; ++bit)
          value |= std::size_t{(from.data[(first + bit) * words + i / 64] >> (i % 64)) & 1} << bit;
        return value;
      };
      const auto is_set = [&](const Buffer& rows, std::size_t row, std::size_t i) {
        return (rows.data[row * words + i / 64] >> (i % 64)) & 1;
      };
      Buffer tables(kEntries * groups * words, false);
      k.carry_tables(planes.data.get(), groups, words, tables.data.get());
      for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t i = 0; i < 64 * words; ++i)
          for (std::size_t x = 1; x < kAll; ++x)
            expect(is_set(tables, kEntries * group + x - 1, i) == (digit(planes, kBits * group, i) >= x), "carry_tables",
                   words, groups, i, x);
      const std::size_t numbers = 2;
      const Buffer shared(kEntries * groups * words), chosen(numbers * kBits * groups * words);
      for (bool constant : {false, true}) {
        Buffer out((2 * groups - 1) * numbers * words, false);
        k.carry_signals(shared.data.get(), chosen.data.get(), constant, groups, numbers, words, out.data.get());
        for (std::size_t group = 0; group < groups; ++group)
          for (std::size_t number = 0; number < numbers; ++number)
            for (std::size_t i = 0; i < 64 * words; ++i) {
              const int v = static_cast<int>(digit(chosen, kBits * (groups * number + group), i));
              const auto entry = [&](int place) -> Word {  // [u + v >= place], shared
                const int x = place - v;
                if (x <= 0) return constant;
                return x > static_cast<int>(kEntries) ? 0 : is_set(shared, kEntries * group + x - 1, i);
              };
              const bool last = group + 1 == groups;
              const Word carries = last ? entry(8) ^ entry(16) ^ entry(24) : entry(16);
              expect(is_set(out, group * numbers + number, i) == carries, "carry_signals", words, groups, i, group);
              if (group == 0) continue;
              const Word passes =
                  last ? entry(7) ^ entry(8) ^ entry(15) ^ entry(16) ^ entry(23) ^ entry(24) : entry(15) ^ entry(16);
              expect(is_set(out, (groups - 1 + group) * numbers + number, i) == passes, "carry_signals, passed on",
                     words, groups, i, group);
            }
      }
    }
}

}  // namespace cofit
