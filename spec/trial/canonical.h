// One spelling of a resolved spec, and the fingerprints made from it: a trial's identity.
//
// Canonical JSON: keys are the fields' names in the order of their numbers; no spaces; leaves equal to their declared
// default are left out, and so are groups that say nothing (an empty default member of a choice, an empty group that
// the resolver would make), so that a new field with a default changes no old fingerprint; a field with the option
// `was` is left out at that value in place of its default, so that its default may differ from what old trials did;
// incidental fields are left out; -0 is 0; doubles in their shortest form that reads back the same.
//
// Fingerprints are lower-case SHA-256. REQUIRES of all: the spec is resolved. Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_CANONICAL_H_
#define INLIER_SPEC_TRIAL_CANONICAL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

std::string CanonicalJson(const google::protobuf::Message& message);

// Identity of the train stage: revision, seed, model, attention, norm, dropout, data and training.
std::string TrainFingerprint(const v1::TrialSpec& resolved);

// Identity of the evaluate stage: the train stage's with quantization and evaluation. The second form is faster.
std::string EvaluateFingerprint(const v1::TrialSpec& resolved);
std::string EvaluateFingerprint(const v1::TrialSpec& resolved, const std::string& train_fingerprint);

// The JSON that the store keeps: every value, defaults and incidental fields included, with the names of the .proto
// files. Leaves without a value and without a default, and absent groups, are left out.
std::string ResolvedJson(const v1::TrialSpec& resolved);

// The stage that stores this field of TrialSpec: EVALUATE for quantization, evaluation and program_evaluation, TRAIN for all others.
v1::StageKind StageOfField(const google::protobuf::FieldDescriptor* field);

// ResolvedJson of the fields of one stage.
std::string ResolvedPartJson(const v1::TrialSpec& resolved, v1::StageKind kind);

// The parts serialised: each is a TrialSpec, and `train` followed by `evaluate` is the whole.
struct PackedParts {
  std::string train;
  std::string evaluate;
};
PackedParts SplitPacked(const v1::TrialSpec& resolved);

// Reads ResolvedJson (or any proto JSON of a TrialSpec). An absent field with the option `was` gets that value: the JSON is
// older than the field. InvalidArgument otherwise.
absl::StatusOr<v1::TrialSpec> TrialSpecFromJson(std::string_view json);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CANONICAL_H_
