#include "core/synthetic/bigram_chain.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random_draws.h"

namespace inlier {
namespace {

// Steps of the lazy chain towards its steady state.
constexpr int kSteps = 200;

using Rows = std::vector<std::vector<double>>;

// A row for each token but bos, over the same tokens.
Rows DrawRows(std::int64_t tokens, double concentration, std::uint64_t seed) {
  Rows rows;
  for (std::int64_t token = 0; token < tokens; ++token) {
    RandomStream stream(seed, "bigram row", static_cast<std::uint64_t>(token));
    std::vector<double> row(tokens);
    for (double& chance : row) chance = DrawLogGamma(concentration, stream);
    const double largest = *std::max_element(row.begin(), row.end());
    for (double& chance : row) chance = std::exp(chance - largest);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& chance : row) chance /= sum;
    rows.push_back(std::move(row));
  }
  return rows;
}

// Half of the mass stays at each step: the same steady state, also where the chain goes in circles.
std::vector<double> SteadyState(const Rows& rows) {
  std::vector<double> shares(rows.size(), 1.0 / static_cast<double>(rows.size()));
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> next(rows.size(), 0);
    for (std::size_t from = 0; from < rows.size(); ++from) {
      for (std::size_t to = 0; to < rows.size(); ++to) next[to] += shares[from] * rows[from][to];
    }
    for (std::size_t token = 0; token < rows.size(); ++token)
      shares[token] = (shares[token] + next[token]) / 2;
  }
  return shares;
}

// Turns weights into the sums of shares that DrawFrom reads.
void AddUp(std::span<double> weights) {
  std::partial_sum(weights.begin(), weights.end(), weights.begin());
  const double sum = weights.back();
  for (double& weight : weights) weight /= sum;
}

std::int64_t DrawFrom(std::span<const double> sums, RandomStream& stream) {
  return std::upper_bound(sums.begin(), sums.end() - 1, stream.Uniform()) - sums.begin();
}

}  // namespace

BigramChain::BigramChain(const Options& options)
    : vocab_size_(options.vocab_size), triggers_(options.triggers) {
  INLIER_CHECK(triggers_ >= 0 && vocab_size_ >= triggers_ + 3 && options.concentration > 0);
  const std::int64_t tokens = vocab_size_ - 1;
  const Rows rows = DrawRows(tokens, options.concentration, options.seed);
  const std::vector<double> shares = SteadyState(rows);
  std::vector<std::int64_t> by_share(tokens);
  std::iota(by_share.begin(), by_share.end(), std::int64_t{0});
  std::stable_sort(by_share.begin(), by_share.end(),
                   [&shares](std::int64_t a, std::int64_t b) { return shares[a] > shares[b]; });

  shares_.assign(vocab_size_, 0);
  sums_.assign(vocab_size_ * vocab_size_, 0);
  first_sums_.assign(vocab_size_, 0);
  for (std::int64_t from = 1; from < vocab_size_; ++from) {
    shares_[from] = shares[by_share[from - 1]];
    if (!IsTrigger(from)) first_sums_[from] = shares_[from];
    const std::span<double> sums(sums_.data() + from * vocab_size_, vocab_size_);
    for (std::int64_t to = 1; to < vocab_size_; ++to) sums[to] = rows[by_share[from - 1]][by_share[to - 1]];
    AddUp(sums);
  }
  AddUp(first_sums_);
}

std::span<const double> BigramChain::SumsOf(std::int64_t from) const {
  INLIER_CHECK(from >= 1 && from < vocab_size_);
  return {sums_.data() + from * vocab_size_, static_cast<std::size_t>(vocab_size_)};
}

double BigramChain::Probability(std::int64_t from, std::int64_t to) const {
  INLIER_CHECK(to >= 0 && to < vocab_size_);
  const std::span<const double> sums = SumsOf(from);
  return to == 0 ? sums[0] : sums[to] - sums[to - 1];
}

void BigramChain::Draw(RandomStream& stream, std::span<std::int64_t> ids) const {
  if (!ids.empty()) ids[0] = 0;
  if (ids.size() > 1) ids[1] = DrawFrom(first_sums_, stream);
  for (std::size_t n = 2; n < ids.size(); ++n)
    ids[n] = IsTrigger(ids[n - 1]) ? ids[n - 2] : DrawFrom(SumsOf(ids[n - 1]), stream);
}

}  // namespace inlier
