// From an OptimizerSpec to an optimizer: the only lines that name an optimizer's hyper-parameters.
#ifndef INLIER_CORE_OPTIM_MAKE_OPTIMIZER_H_
#define INLIER_CORE_OPTIM_MAKE_OPTIMIZER_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/optim/optimizer.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

// InvalidArgument, starting with the field, when `spec` does not fit the sizes of these parameters.
absl::Status CheckOptimizer(const v1::OptimizerSpec& spec, const std::vector<NamedParameter>& parameters);

// The optimizer of `spec` over `parameters` (tied tensors once).  REQUIRES: CheckOptimizer is OK.
std::unique_ptr<Optimizer> MakeOptimizer(const v1::OptimizerSpec& spec,
                                         const std::vector<NamedParameter>& parameters);

// The rate that the schedule scales.
double PeakLearningRate(const v1::OptimizerSpec& spec);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_MAKE_OPTIMIZER_H_
