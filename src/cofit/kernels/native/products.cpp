#include "products.hpp"

#include <algorithm>
#include <memory>

#include "thread_pool.hpp"

namespace cofit {
namespace {

// Waking a thread costs tens of microseconds, in which one core does about this many word products.
constexpr std::size_t kWordProductsPerThread = 150000;
constexpr std::size_t kUnit = 16;  // rows or columns: a piece never cuts a tile or a cache line needlessly

std::size_t useful_threads(std::size_t threads, double word_products) {
  const double enough = word_products / kWordProductsPerThread;
  if (enough < 2) return 1;
  return enough < static_cast<double>(threads) ? static_cast<std::size_t>(enough) : threads;
}

double word_products(const Terms& terms, std::size_t words, std::size_t a, std::size_t b, std::size_t c) {
  return static_cast<double>(terms.count) * (words == 1 ? 1.0 : 3.0) * static_cast<double>(a) *
         static_cast<double>(b) * static_cast<double>(c);
}

// [0, size) cut into equal pieces of whole units; a few for each thread even out what else the machine does.
class Cuts {
 public:
  Cuts(std::size_t size, std::size_t threads, std::size_t pieces_per_thread)
      : size_(size), units_((size + kUnit - 1) / kUnit) {
    pieces_ = threads == 1 ? 1 : std::max<std::size_t>(1, std::min(units_, threads * pieces_per_thread));
  }
  std::size_t pieces() const { return pieces_; }
  std::size_t begin(std::size_t piece) const { return std::min(size_, units_ * piece / pieces_ * kUnit); }
  std::size_t end(std::size_t piece) const { return begin(piece + 1); }

 private:
  std::size_t size_, units_, pieces_;
};

}  // namespace

void matvec(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t cols, Word* out,
            std::size_t words, std::size_t threads) {
  threads = useful_threads(threads, word_products(terms, words, rows, cols, 1));
  const Cuts cuts(rows, threads, 4);
  auto body = [&](std::size_t piece, std::size_t) {
    kernels.matvec[words - 1](terms.left, terms.right, terms.count, cols, cuts.begin(piece), cuts.end(piece),
                              out);
  };
  for_pieces(threads, cuts.pieces(), body);
}

void matvec_t(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t cols, Word* out,
              std::size_t words, std::size_t threads) {
  threads = useful_threads(threads, word_products(terms, words, rows, cols, 1));
  const Cuts cuts(cols, threads, 1);
  auto body = [&](std::size_t piece, std::size_t) {
    kernels.matvec_t[words - 1](terms.left, terms.right, terms.count, rows, cols, cuts.begin(piece),
                                cuts.end(piece), out);
  };
  for_pieces(threads, cuts.pieces(), body);
}

void matvec_pairs(const Kernels& kernels, const Terms& terms, bool transposed, std::size_t rows, std::size_t cols,
                  Word* out, std::size_t words, std::size_t threads) {
  threads = useful_threads(threads, word_products(terms, words, rows, cols, 2));
  const std::size_t length = transposed ? cols : rows;
  const Cuts cuts(length, threads, transposed ? 1 : 4);
  const MatvecPairFn kernel = (transposed ? kernels.matvec_t_pair : kernels.matvec_pair)[words - 1];
  auto body = [&](std::size_t piece, std::size_t) {
    for (std::size_t t = 0; t < terms.count; ++t)
      kernel(terms.left[t], terms.right[t], rows, cols, cuts.begin(piece), cuts.end(piece),
             out + 2 * t * length * words);
  };
  for_pieces(threads, cuts.pieces(), body);
}

void matmul(const Kernels& kernels, const Terms& terms, std::size_t rows, std::size_t depth, std::size_t cols,
            Word* out, std::size_t words, std::size_t threads) {
  threads = useful_threads(threads, word_products(terms, words, rows, depth, cols));
  const bool by_rows = rows >= cols;
  const Cuts cuts(by_rows ? rows : cols, threads, 1);
  const auto block = [&](std::size_t piece) {
    return by_rows ? MatmulBlock{depth, cols, cuts.begin(piece), cuts.end(piece), 0, cols}
                   : MatmulBlock{depth, cols, 0, rows, cuts.begin(piece), cuts.end(piece)};
  };
  std::size_t scratch_words = 0;
  for (std::size_t piece = 0; piece < cuts.pieces(); ++piece)
    scratch_words = std::max(scratch_words, kernels.matmul_scratch[words - 1](block(piece)));
  const std::unique_ptr<Word[]> scratch(new Word[scratch_words * threads]);
  auto body = [&](std::size_t piece, std::size_t slot) {
    kernels.matmul[words - 1](terms.left, terms.right, terms.count, block(piece), out,
                              scratch.get() + slot * scratch_words);
  };
  for_pieces(threads, cuts.pieces(), body);
}

}  // namespace cofit
