// Whether a trial can run: declarations (ranges, required fields) and what holds between fields.
#ifndef INLIER_PROTO_SPEC_VALIDATOR_H_
#define INLIER_PROTO_SPEC_VALIDATOR_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "proto/spec/problems.h"

namespace inlier {

// Everything that is wrong with a resolved spec. Paths are those of TrialSpec.
Problems FindProblems(const v1::TrialSpec& resolved);

// Those of them that are no matter of declarations: what holds between fields.
Problems FindContradictions(const v1::TrialSpec& resolved);

// FindProblems as a Status: InvalidArgument with one line `path: the value, what is allowed, the remedy` for
// each.
absl::Status Validate(const v1::TrialSpec& resolved);

// Resolve, then Validate.
absl::StatusOr<v1::TrialSpec> ResolveAndValidate(const v1::TrialSpec& spec);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_VALIDATOR_H_
