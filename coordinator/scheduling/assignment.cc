#include "coordinator/scheduling/assignment.h"

#include <string>

namespace inlier {

void DescribeAssignment(const State& state, const Attempt& attempt, bool known, v1::Assignment& told) {
  told = attempt.assignment;
  if (known) return;
  const Stage& stage = state.stages.at(attempt.stage);
  std::string spec = stage.kind == v1::EVALUATE_STAGE ? PackedSpec(state.stages.at(stage.train).spec) : "";
  told.set_spec(spec += PackedSpec(stage.spec));
}

}  // namespace inlier
