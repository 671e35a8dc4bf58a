// SQL of the lower stretch limit of vanilla and clipped softmax alike.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_EFFECTIVE_GAMMA_H_
#define INLIER_COORDINATOR_STORE_VIEWS_EFFECTIVE_GAMMA_H_

#include <string>

#include "spec/schema/columns.h"

namespace inlier {

// gamma; 0 for vanilla; -alpha / T with T as in SequenceLength (spec/trial/data_kind.h); NULL for other softmaxes.
std::string EffectiveGammaSql(const JsonPlace& place);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_EFFECTIVE_GAMMA_H_
