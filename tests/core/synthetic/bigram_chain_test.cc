// The chain against its definition: rows, steady state, and the statistics of drawn sequences.
#include "core/synthetic/bigram_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace inlier {
namespace {

constexpr BigramChain::Options kOptions = {.vocab_size = 24, .triggers = 3, .concentration = 0.3, .seed = 5};

std::vector<std::int64_t> Drawn(const BigramChain& chain, std::uint64_t number, std::size_t length = 64) {
  std::vector<std::int64_t> ids(length);
  RandomStream stream(9, "test", number);
  chain.Draw(stream, ids);
  return ids;
}

TEST(BigramChainTest, RowsAreDistributionsOverAllTokensButBos) {
  const BigramChain chain(kOptions);
  for (std::int64_t from = 1; from < 24; ++from) {
    double sum = 0;
    for (std::int64_t to = 0; to < 24; ++to) {
      EXPECT_GE(chain.Probability(from, to), 0);
      sum += chain.Probability(from, to);
    }
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_EQ(chain.Probability(from, 0), 0);
  }
}

// A symmetric Dirichlet distribution over k tokens with parameter a: each chance has mean 1 / k and variance
// (k - 1) / (k^2 (k a + 1)).
TEST(BigramChainTest, RowsHaveTheMomentsOfTheDirichletDistribution) {
  for (const double a : {0.05, 0.3, 1.0, 4.0}) {
    double square = 0;
    int count = 0;
    constexpr double kTokens = 63;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const BigramChain chain({.vocab_size = 64, .triggers = 3, .concentration = a, .seed = seed});
      for (std::int64_t from = 1; from < 64; ++from) {
        for (std::int64_t to = 1; to < 64; ++to, ++count)
          square += std::pow(chain.Probability(from, to) - 1 / kTokens, 2);
      }
    }
    const double variance = (kTokens - 1) / (kTokens * kTokens * (kTokens * a + 1));
    EXPECT_NEAR(square / count / variance, 1, 0.05) << a;
  }
}

TEST(BigramChainTest, TokensAreNumberedByTheirShareOfTheSteadyState) {
  const BigramChain chain(kOptions);
  EXPECT_EQ(chain.Share(0), 0);
  double sum = 0;
  for (std::int64_t to = 1; to < 24; ++to) {
    sum += chain.Share(to);
    double next = 0;
    for (std::int64_t from = 1; from < 24; ++from) next += chain.Share(from) * chain.Probability(from, to);
    EXPECT_NEAR(next, chain.Share(to), 1e-6) << "a step changes nothing";
    if (to > 1) {
      EXPECT_LE(chain.Share(to), chain.Share(to - 1)) << "triggers are the most frequent";
    }
  }
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(BigramChainTest, BosIsFirstAndATriggerIsFollowedByTheTokenBeforeIt) {
  const BigramChain chain(kOptions);
  int copies = 0;
  for (std::uint64_t number = 0; number < 500; ++number) {
    const std::vector<std::int64_t> ids = Drawn(chain, number);
    EXPECT_EQ(ids[0], 0);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), 0), 1) << "bos is in front only";
    EXPECT_FALSE(chain.IsTrigger(ids[1]));
    for (std::size_t n = 2; n < ids.size(); ++n) {
      if (!chain.IsTrigger(ids[n - 1])) continue;
      ++copies;
      ASSERT_EQ(ids[n], ids[n - 2]);
      ASSERT_FALSE(chain.IsTrigger(ids[n]));
    }
  }
  EXPECT_GT(copies, 1000);
}

// Each count of a pair is binomial: the standard scores have a variance of 1 together, and none is beyond 5.
TEST(BigramChainTest, OrdinaryTokensAreFollowedByDrawsFromTheirRow) {
  const BigramChain chain(kOptions);
  std::vector<std::vector<double>> pairs(24, std::vector<double>(24, 0));
  std::vector<double> first(24, 0);
  constexpr int kSequences = 4000;
  for (std::uint64_t number = 0; number < kSequences; ++number) {
    const std::vector<std::int64_t> ids = Drawn(chain, number);
    ++first[ids[1]];
    for (std::size_t n = 2; n < ids.size(); ++n) ++pairs[ids[n - 1]][ids[n]];
  }
  std::vector<double> scores;
  const auto add = [&scores](double found, double all, double chance) {
    if (all * chance < 5) return;  // Too few to be normal.
    scores.push_back((found - all * chance) / std::sqrt(all * chance * (1 - chance)));
  };
  double ordinary = 0;
  for (std::int64_t token = 4; token < 24; ++token) ordinary += chain.Share(token);
  for (std::int64_t from = 4; from < 24; ++from) {
    add(first[from], kSequences, chain.Share(from) / ordinary);
    const double all = std::accumulate(pairs[from].begin(), pairs[from].end(), 0.0);
    EXPECT_EQ(pairs[from][0], 0);
    for (std::int64_t to = 1; to < 24; ++to) add(pairs[from][to], all, chain.Probability(from, to));
  }
  ASSERT_GT(scores.size(), 300u);
  double squares = 0;
  for (const double score : scores) {
    EXPECT_LT(std::abs(score), 5);
    squares += score * score;
  }
  // The mean of 400 squares has a standard deviation of sqrt(2 / 400).
  EXPECT_NEAR(squares / static_cast<double>(scores.size()), 1, 4 * 0.0707);
}

TEST(BigramChainTest, WithoutTriggersItIsAChainOfBigrams) {
  const BigramChain chain({.vocab_size = 4, .triggers = 0, .concentration = 1, .seed = 1});
  EXPECT_FALSE(chain.IsTrigger(1));
  const std::vector<std::int64_t> ids = Drawn(chain, 1, 1000);
  for (std::int64_t token = 1; token < 4; ++token) EXPECT_GT(std::count(ids.begin(), ids.end(), token), 0);
}

TEST(BigramChainTest, TheSeedDecidesTheChain) {
  const auto rows = [](std::uint64_t seed) {
    BigramChain::Options options = kOptions;
    options.seed = seed;
    const BigramChain chain(options);
    std::vector<double> row;
    for (std::int64_t to = 1; to < 24; ++to) row.push_back(chain.Probability(5, to));
    return row;
  };
  EXPECT_EQ(rows(5), rows(5));
  EXPECT_NE(rows(5), rows(6));
  EXPECT_EQ(Drawn(BigramChain(kOptions), 3), Drawn(BigramChain(kOptions), 3));
}

}  // namespace
}  // namespace inlier
