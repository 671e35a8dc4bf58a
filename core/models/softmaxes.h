// The softmaxes of attention, each by its message of SoftmaxSpec. A new one is a function and a case in softmaxes.cc
// (docs/guides/add-a-softmax.md).
#ifndef INLIER_CORE_MODELS_SOFTMAXES_H_
#define INLIER_CORE_MODELS_SOFTMAXES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/nn/attention/script_checks.h"
#include "core/nn/attention/softmax.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// attention.softmax of `spec`, of an attention with `heads` heads. InvalidArgument starts with the path of the field. A script
// is read below `roots`, and checked.
absl::StatusOr<SoftmaxOptions> SoftmaxFromSpec(const v1::TrialSpec& spec, std::int64_t heads,
                                               const DataRoots& roots);

RowSum RowSumFromSpec(v1::ScriptSoftmaxSpec::RowSum sum);

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_SOFTMAXES_H_
