#include "core/data/unigram_perplexity.h"

#include <cmath>
#include <numeric>

namespace inlier {

double UnigramPerplexity(const std::vector<double>& counts) {
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  double sum = 0;
  for (const double count : counts) {
    if (count > 0) sum -= count * std::log(count / total);
  }
  return std::exp(sum / total);
}

}  // namespace inlier
