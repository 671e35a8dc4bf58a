// Bigram-Backcopy: a Markov chain over tokens in which some, the triggers, are followed by the token before them.
//                                                                        (Guo et al. 2024, arXiv 2410.13835)
//
// Token 0 is bos, tokens 1 to `triggers` are triggers, the others ordinary. A sequence x is
//   x_0 = bos;
//   x_1 an ordinary token, by its share of the chain's steady state among ordinary tokens;
//   x_n = x_(n-2) where x_(n-1) is a trigger, else drawn from the row of x_(n-1).
// So a trigger is always followed by an ordinary token, and bos is nowhere but in front.
//
// The paper takes the rows from text. Here each is a draw from a symmetric Dirichlet distribution over all tokens
// but bos (as in Edelman et al. 2024, arXiv 2402.11004), sparse where the concentration is small. Tokens are
// numbered by their share of the steady state of the chain without copies, so that the triggers are the most
// frequent ones, as in the paper.
#ifndef INLIER_CORE_SYNTHETIC_BIGRAM_CHAIN_H_
#define INLIER_CORE_SYNTHETIC_BIGRAM_CHAIN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/random_stream.h"

namespace inlier {

class BigramChain {
 public:
  struct Options {
    std::int64_t vocab_size = 0;  // With bos.
    std::int64_t triggers = 0;
    double concentration = 0;  // Of the Dirichlet distribution.
    std::uint64_t seed = 0;
  };

  // REQUIRES: triggers >= 0, two ordinary tokens at least, concentration > 0.
  explicit BigramChain(const Options& options);

  bool IsTrigger(std::int64_t token) const { return token >= 1 && token <= triggers_; }

  // The row of `from`: the chance of `to` behind it where it is not a trigger. 0 for bos. REQUIRES: from >= 1.
  double Probability(std::int64_t from, std::int64_t to) const;

  // Share of a token in the chain's steady state without copies; falls with the token's number. 0 for bos.
  double Share(std::int64_t token) const { return shares_[token]; }

  // Fills `ids` with a sequence drawn from `stream`.
  void Draw(RandomStream& stream, std::span<std::int64_t> ids) const;

 private:
  std::span<const double> SumsOf(std::int64_t from) const;

  std::int64_t vocab_size_;
  std::int64_t triggers_;
  std::vector<double> sums_;        // Of each row: the sum of the chances up to each token.
  std::vector<double> shares_;      // Of each token.
  std::vector<double> first_sums_;  // The same sums for x_1.
};

}  // namespace inlier

#endif  // INLIER_CORE_SYNTHETIC_BIGRAM_CHAIN_H_
