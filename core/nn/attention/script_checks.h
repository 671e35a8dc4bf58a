// Checks of a user's own softmax or gate with a small input, before a model has it: all that would else fail late, or give wrong
// numbers in silence.
#ifndef INLIER_CORE_NN_ATTENTION_SCRIPT_CHECKS_H_
#define INLIER_CORE_NN_ATTENTION_SCRIPT_CHECKS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/nn/attention/script.h"

namespace inlier {

enum class RowSum { kOne, kAtMostOne, kAny };

// What is wrong with `sums` of rows of probabilities, any shape; empty where they are as declared.
std::string RowSumProblem(const at::Tensor& sums, RowSum declared);

// (scores, mask) -> probabilities: their shape, type and sums; zeros where the mask hides, a gradient, the same result twice, and no
// parameters. InvalidArgument says what was found.
absl::Status CheckSoftmaxScript(const Script& script, RowSum declared, std::int64_t heads);

// (x) -> gates from 0 to 1, one a head or an element; a gradient for each parameter; the same result twice.
absl::Status CheckGateScript(const Script& script, std::int64_t heads, std::int64_t head_size);

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_SCRIPT_CHECKS_H_
