// Every kernel of one instruction set against a naive reference, at odd sizes, in buffers of exactly the right
// size. Built with sanitizers: a read or write outside a buffer, or undefined arithmetic, ends the program.
#include "check_support.hpp"

using namespace cofit;

namespace {

void check_products(const Kernels& k, std::size_t words, std::size_t threads) {
  for (std::size_t rows : {0, 1, 3, 7, 18, 65})
    for (std::size_t cols : {0, 1, 2, 5, 11, 64, 67}) {
      Buffer m0(rows * cols * words), m1(rows * cols * words), x0(cols * words), x1(cols * words);
      Buffer y0(rows * words), y1(rows * words), out(rows * words, false), out_t(cols * words, false);
      Terms right{{m0.data.get(), m1.data.get()}, {x0.data.get(), x1.data.get()}, 2};
      Terms left{{m0.data.get(), m1.data.get()}, {y0.data.get(), y1.data.get()}, 2};
      matvec(k, right, rows, cols, out.data.get(), words, threads);
      matvec_t(k, left, rows, cols, out_t.data.get(), words, threads);
      for (std::size_t i = 0; i < rows; ++i) {
        Wide sum = 0;
        for (std::size_t j = 0; j < cols; ++j)
          sum += m0.get(i * cols + j, words) * x0.get(j, words) + m1.get(i * cols + j, words) * x1.get(j, words);
        expect(out.holds(i, sum, words), "matvec", words, rows, cols, i);
      }
      for (std::size_t j = 0; j < cols; ++j) {
        Wide sum = 0;
        for (std::size_t i = 0; i < rows; ++i)
          sum += m0.get(i * cols + j, words) * y0.get(i, words) + m1.get(i * cols + j, words) * y1.get(i, words);
        expect(out_t.holds(j, sum, words), "matvec_t", words, rows, cols, j);
      }
      for (std::size_t depth : {0, 1, 6, 131}) {
        Buffer a(rows * depth * words), b(depth * cols * words), c(rows * cols * words, false);
        Terms terms{{a.data.get()}, {b.data.get()}, 1};
        matmul(k, terms, rows, depth, cols, c.data.get(), words, threads);
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t j = 0; j < cols; ++j) {
            Wide sum = 0;
            for (std::size_t l = 0; l < depth; ++l)
              sum += a.get(i * depth + l, words) * b.get(l * cols + j, words);
            expect(c.holds(i * cols + j, sum, words), "matmul", words, rows, depth, cols);
          }
      }
    }
}

void check_blocks(const Kernels& k, std::size_t words, std::size_t threads) {
  const std::size_t rows = 131, depth = 261, cols = 521;  // more than one block each way
  Buffer a(rows * depth * words), b(depth * cols * words), c(rows * cols * words, false);
  Terms terms{{a.data.get()}, {b.data.get()}, 1};
  matmul(k, terms, rows, depth, cols, c.data.get(), words, threads);
  for (std::size_t i = 0; i < rows; i += 5)
    for (std::size_t j = i % 3; j < cols; j += 3) {
      Wide sum = 0;
      for (std::size_t l = 0; l < depth; ++l) sum += a.get(i * depth + l, words) * b.get(l * cols + j, words);
      expect(c.holds(i * cols + j, sum, words), "blocked matmul", words, i, j, threads);
    }
}

void check_maps(const Kernels& k, std::size_t words) {
  const std::size_t w = words - 1;
  const unsigned width = static_cast<unsigned>(64 * words);
  const Wide ones = words == 1 ? Wide{~Word{0}} : ~Wide{0};
  for (std::size_t n : {0, 1, 2, 3, 5, 8, 63, 64, 65, 257}) {
    Buffer a(n * words), b(n * words), s(words), out(n * words, false);
    const auto all = [&](const char* what, auto expected) {
      for (std::size_t i = 0; i < n; ++i) expect(out.holds(i, expected(i), words), what, words, n, i, 0);
    };
    const auto x = [&](std::size_t i) { return a.get(i, words); };
    const auto y = [&](std::size_t i) { return b.get(i, words); };
    const Wide z = s.get(0, words);
    const Word *pa = a.data.get(), *pb = b.data.get(), *ps = s.data.get();
    Word* po = out.data.get();
    k.add[w](pa, pb, false, n, po), all("add", [&](std::size_t i) { return x(i) + y(i); });
    k.add[w](pa, ps, true, n, po), all("add one", [&](std::size_t i) { return x(i) + z; });
    k.sub[w](pa, pb, false, n, po), all("sub", [&](std::size_t i) { return x(i) - y(i); });
    k.sub[w](pa, ps, true, n, po), all("sub one", [&](std::size_t i) { return x(i) - z; });
    k.mul[w](pa, pb, false, n, po), all("mul", [&](std::size_t i) { return x(i) * y(i); });
    k.mul[w](pa, ps, true, n, po), all("mul one", [&](std::size_t i) { return x(i) * z; });
    k.neg[w](pa, n, po), all("neg", [&](std::size_t i) { return Wide{0} - x(i); });
    const Word *lhs[] = {pa, pb}, *rhs[] = {pb, ps};
    const bool scalar[] = {false, true};
    k.mul_sum[w](lhs, rhs, scalar, 2, n, po);
    all("mul_sum", [&](std::size_t i) { return x(i) * y(i) + y(i) * z; });
    for (unsigned bits : {0u, 1u, 31u, 63u, width / 2, width - 1}) {
      const Wide top = ones ^ (ones >> bits);
      k.shl[w](pa, bits, n, po), all("shl", [&](std::size_t i) { return x(i) << bits; });
      k.shr[w](pa, bits, n, po), all("shr", [&](std::size_t i) { return x(i) >> bits; });
      k.sar[w](pa, bits, n, po);
      all("sar", [&](std::size_t i) { return (x(i) >> bits) | (x(i) >> (width - 1) ? top : 0); });
    }
    k.add[w](pa, pb, false, n, po);
    Buffer same(n * words);
    if (n > 0) std::memcpy(same.data.get(), pa, n * words * sizeof(Word));
    k.add[w](same.data.get(), pb, false, n, same.data.get());
    for (std::size_t i = 0; i < n * words; ++i) expect(same.data[i] == po[i], "add in place", words, n, i, 0);
  }
}

void check_masked(const Kernels& k, std::size_t words) {
  const std::size_t w = words - 1;
  const unsigned width = static_cast<unsigned>(64 * words);
  const Wide ones = words == 1 ? Wide{~Word{0}} : ~Wide{0};
  for (std::size_t n : {0, 1, 5, 511, 512, 513, 1027}) {
    Buffer a(n * words), b(n * words), c(n * words), d(n * words), e(n * words), out(n * words, false);
    Buffer second(n * words, false);
    const auto all = [&](const Buffer& got, const char* what, auto expected) {
      for (std::size_t i = 0; i < n; ++i) expect(got.holds(i, expected(i), words), what, words, n, i, 0);
    };
    const auto at = [&](const Buffer& buffer, std::size_t i) { return buffer.get(i, words); };
    const Word *pa = a.data.get(), *pb = b.data.get(), *pc = c.data.get(), *pd = d.data.get(), *pe = e.data.get();
    Addends addends;
    addends.plus[0] = pc, addends.plus[1] = pd, addends.minus[0] = pe;
    addends.plus_count = 2, addends.minus_count = 1;
    k.signed_sum[w](addends, n, out.data.get());
    all(out, "signed_sum", [&](std::size_t i) { return at(c, i) + at(d, i) - at(e, i); });
    const Word *left[] = {pa, pb}, *right[] = {pc, pd};
    k.cross_product[w](left, right, addends, n, out.data.get());
    all(out, "cross_product", [&](std::size_t i) {
      return at(a, i) * (at(c, i) + at(d, i)) + at(b, i) * at(c, i) + at(c, i) + at(d, i) - at(e, i);
    });
    for (std::size_t cols : {std::size_t{1}, n}) {
      if (n == 0) continue;
      Buffer own(cols * words), following(cols * words);
      const Word* row[] = {own.data.get(), following.data.get()};
      k.squared_distances[w](left, row, cols, addends, n, out.data.get());
      all(out, "squared_distances", [&](std::size_t i) {
        const Wide apart = at(a, i) - at(own, i % cols), other = at(b, i) - at(following, i % cols);
        return apart * (apart + 2 * other) + at(c, i) + at(d, i) - at(e, i);
      });
    }
    const Buffer bits((n + 63) / 64);
    for (bool adds : {false, true}) {
      const auto bit = [&](std::size_t i) { return Wide{(bits.data[i / 64] >> (i % 64)) & 1}; };
      k.signed_by_bits[w](bits.data.get(), pa, adds, pe, 1, n, out.data.get());
      all(out, "signed_by_bits", [&](std::size_t i) {
        return (bit(i) ? Wide{0} - at(a, i) : at(a, i)) + (adds ? bit(i) : 0) - at(e, i);
      });
      k.signed_by_bits[w](bits.data.get(), pa, adds, nullptr, 1, n, out.data.get());
      all(out, "signed_by_bits, plain", [&](std::size_t i) {
        return (bit(i) ? Wide{0} - at(a, i) : at(a, i)) + (adds ? bit(i) : 0);
      });
      k.signed_by_bits[w](bits.data.get(), nullptr, adds, pe, 1, n, out.data.get());
      all(out, "signed_by_bits, of zeros", [&](std::size_t i) { return (adds ? bit(i) : 0) - at(e, i); });
    }
    for (unsigned shift : {1u, 31u, 63u, width - 1}) {
      const Wide offset = Wide{1} << (width - 2);
      const auto opened = [&](std::size_t i) { return (at(c, i) + at(d, i) - at(e, i) + offset) & ones; };
      for (bool adds : {false, true}) {
        k.unmask[w](addends, pa, pb, pe, shift, adds, n, out.data.get());
        all(out, "unmask", [&](std::size_t i) {
          const Wide wrap = opened(i) >> (width - 1) ? 0 : at(b, i) << (width - shift);
          return wrap - at(a, i) - at(e, i) + (adds ? (opened(i) >> shift) - (offset >> shift) : 0);
        });
      }
    }
    if (words == 1) {
      k.signed_sum[kBitsIndex](addends, n, out.data.get());
      all(out, "signed_sum of bits", [&](std::size_t i) { return at(c, i) ^ at(d, i) ^ at(e, i); });
      k.cross_product[kBitsIndex](left, right, addends, n, out.data.get());
      all(out, "cross_product of bits", [&](std::size_t i) {
        return (at(a, i) & (at(c, i) ^ at(d, i))) ^ (at(b, i) & at(c, i)) ^ at(c, i) ^ at(d, i) ^ at(e, i);
      });
    }
  }
}

// kind: words - 1, or kBitsIndex.
void check_combinations(const Kernels& k, std::size_t kind) {
  const std::size_t words = kind == 1 ? 2 : 1;
  const auto times = [&](Wide a, Wide b) { return kind == kBitsIndex ? a & b : a * b; };
  const auto plus = [&](Wide a, Wide b) { return kind == kBitsIndex ? a ^ b : a + b; };
  for (std::size_t n : {0, 1, 31, 32, 33, 64, 65, 513, 1027})
    for (std::size_t inputs : {1, 3, 8, 11, 64})
      for (std::size_t outs : {1, 3, 64}) {
        if (n > 100 && inputs * outs > 100) continue;
        std::vector<Buffer> from, to;
        std::vector<const Word*> sources;
        std::vector<Word*> targets;
        for (std::size_t a = 0; a < inputs; ++a) sources.push_back(from.emplace_back(n * words).data.get());
        for (std::size_t c = 0; c < outs; ++c) targets.push_back(to.emplace_back(n * words, false).data.get());
        Buffer matrix(inputs * outs * words), out(n * words, false);
        matrix.data[0] = 1;
        if (words == 2) matrix.data[1] = 0;
        const SortedCombination combination(matrix.data.get(), inputs, outs, kind);
        const auto combined = [&](std::size_t c, std::size_t i) {
          Wide sum = 0;
          for (std::size_t a = 0; a < inputs; ++a)
            sum = plus(sum, times(matrix.get(c * inputs + a, words), from[a].get(i, words)));
          return sum;
        };
        k.combine[kind](combination.view(), sources.data(), n, targets.data());
        for (std::size_t c = 0; c < outs; ++c)
          for (std::size_t i = 0; i < n; ++i)
            expect(to[c].holds(i, combined(c, i), words), "combine", kind, n, inputs, outs);
        if (inputs > kMaxTerms || outs > kMaxTerms) continue;
        Addends addends;
        addends.plus[addends.plus_count++] = sources[0];
        k.bilinear[kind](combination.view(), targets.data(), sources.data(), addends, n, out.data.get());
        for (std::size_t i = 0; i < n; ++i) {
          Wide sum = from[0].get(i, words);
          for (std::size_t c = 0; c < outs; ++c) sum = plus(sum, times(to[c].get(i, words), combined(c, i)));
          expect(out.holds(i, sum, words), "bilinear", kind, n, inputs, outs);
        }
      }
}

void check_bits(const Kernels& k) {
  for (std::size_t n : {0, 1, 7, 8, 63, 64, 65, 130, 513})
    for (std::size_t rows : {0, 1, 3}) {
      const std::size_t row_words = (n + 63) / 64;
      std::vector<uint8_t> bits(rows * n), back(rows * n, 9);
      for (uint8_t& bit : bits) bit = next_random() & 1;
      bits.shrink_to_fit();
      Buffer packed(rows * row_words, false);
      expect(k.pack_bits(bits.data(), rows, n, packed.data.get()), "pack_bits is valid", 1, rows, n, 0);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < 64 * row_words; ++i) {
          const Word bit = (packed.data[r * row_words + i / 64] >> (i % 64)) & 1;
          expect(bit == (i < n ? bits[r * n + i] : 0), "pack_bits", 1, rows, n, i);
        }
      k.unpack_bits(packed.data.get(), rows, n, back.data());
      expect(back == bits, "unpack_bits", 1, rows, n, 0);
      if (!bits.empty()) {
        bits.back() = 2;
        expect(!k.pack_bits(bits.data(), rows, n, packed.data.get()), "pack_bits refuses 2", 1, rows, n, 0);
      }
    }
}

void check_planes(const Kernels& k, std::size_t words) {
  for (std::size_t n : {0, 1, 63, 64, 65, 511, 512, 577}) {
    const std::size_t plane_words = (n + 63) / 64;
    Buffer values(n * words), planes(64 * words * plane_words, false), back(n * words, false);
    k.to_planes[words - 1](values.data.get(), n, planes.data.get());
    for (std::size_t b = 0; b < 64 * words; ++b)
      for (std::size_t i = 0; i < 64 * plane_words; ++i) {
        const Word bit = (planes.data[b * plane_words + i / 64] >> (i % 64)) & 1;
        const Word expected = i < n ? (values.data[i * words + b / 64] >> (b % 64)) & 1 : 0;
        expect(bit == expected, "to_planes", words, n, b, i);
      }
    k.from_planes[words - 1](planes.data.get(), n, back.data.get());
    for (std::size_t i = 0; i < n * words; ++i)
      expect(back.data[i] == values.data[i], "from_planes", words, n, i, 0);
  }
}

void check_forms(const Kernels& k) {
  for (std::size_t forms : {0, 1, 5})
    for (std::size_t lefts : {1, 3, 16})
      for (std::size_t rights : {1, 4, 7, 64})
        for (std::size_t width : {1, 7, 8, 19}) {
          Buffer matrix(forms * lefts), left(lefts * width), right(rights * width), out(forms * width, false);
          const std::size_t begin = width / 3;
          k.bit_forms(matrix.data.get(), forms, left.data.get(), lefts, right.data.get(), rights, width, begin, width,
                      out.data.get());
          for (std::size_t r = 0; r < forms; ++r)
            for (std::size_t w = 0; w < width; ++w) {
              Word expected = w < begin ? 0xA5A5A5A5A5A5A5A5u : 0;
              for (std::size_t p = 0; w >= begin && p < lefts; ++p)
                for (std::size_t q = 0; q < rights; ++q)
                  if ((matrix.data[r * lefts + p] >> q) & 1)
                    expected ^= left.data[p * width + w] & right.data[q * width + w];
              expect(out.data[r * width + w] == expected, "bit_forms", 1, forms, lefts, rights);
            }
        }
}

}  // namespace

int main(int argc, char** argv) {
  const Kernels* kernels = nullptr;
#if defined(COFIT_LOWERED_AVX512)
  kernels = &kAvx512Kernels;  // compiled without AVX-512 instructions
#endif
  for (const Kernels* candidate : available_kernels())
    if (argc > 1 && std::strcmp(candidate->name, argv[1]) == 0) kernels = candidate;
  if (kernels == nullptr) {
    std::printf("usage: %s instruction-set\n", argv[0]);
    return 2;
  }
  for (std::size_t words : {1, 2}) {
    check_products(*kernels, words, 1);
    for (std::size_t threads : {1, 3}) check_blocks(*kernels, words, threads);
    check_maps(*kernels, words);
    check_masked(*kernels, words);
    check_narrow(*kernels, words);
    check_clips(*kernels, words);
    check_planes(*kernels, words);
  }
  for (std::size_t kind : {std::size_t{0}, std::size_t{1}, kBitsIndex}) check_combinations(*kernels, kind);
  check_bits(*kernels);
  check_carries(*kernels);
  check_forms(*kernels);
  std::printf("%s: %d failures\n", kernels->name, failures);
  return failures == 0 ? 0 : 1;
}
