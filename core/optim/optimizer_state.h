// Parts of the optimizers' State and LoadState.
#ifndef INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_
#define INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/optim/parameter_groups.h"

namespace inlier {

// Appends "<what>/<name>" with its tensor for every name. REQUIRES: as many names as tensors.
void AppendState(const std::string& what, const std::vector<std::string>& names,
                 const std::vector<at::Tensor>& tensors, std::vector<NamedParameter>& state);

// Copies the tensor of the same name into every target, in place. NotFound or InvalidArgument with the name
// of the first one that is missing or of another shape; earlier ones are already copied then.
absl::Status CopyState(const std::map<std::string, at::Tensor>& state,
                       const std::vector<NamedParameter>& targets);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_OPTIMIZER_STATE_H_
