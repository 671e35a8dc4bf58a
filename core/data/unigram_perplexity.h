#ifndef INLIER_CORE_DATA_UNIGRAM_PERPLEXITY_H_
#define INLIER_CORE_DATA_UNIGRAM_PERPLEXITY_H_

#include <vector>

namespace inlier {

// exp of the entropy of the tokens' shares: the best perplexity without context. `counts`: how often each token
// is a target. REQUIRES: one is above 0.
double UnigramPerplexity(const std::vector<double>& counts);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_UNIGRAM_PERPLEXITY_H_
