// The names of the tensors of an optimizer's state.
#ifndef INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_
#define INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "core/optim/parameter_groups.h"

namespace inlier {

// Appends "<what>/<name>" with its tensor for every name. REQUIRES: as many names as tensors.
void AppendState(const std::string& what, const std::vector<std::string>& names,
                 const std::vector<at::Tensor>& tensors, std::vector<NamedParameter>& state);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_
