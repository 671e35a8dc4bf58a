// Draws from distributions other than the uniform one.
//
// Thread safety: as the stream's.
#ifndef INLIER_BASE_RANDOM_DRAWS_H_
#define INLIER_BASE_RANDOM_DRAWS_H_

#include "base/random_stream.h"

namespace inlier {

// The logarithm of a draw from Gamma(alpha, 1), which for small alpha would itself vanish. Shares of several
// such draws are a draw from a Dirichlet distribution. REQUIRES: alpha > 0.
double DrawLogGamma(double alpha, RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_BASE_RANDOM_DRAWS_H_
