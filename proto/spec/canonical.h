// One spelling of a resolved spec, and the fingerprints made from it: a trial's identity.
//
// Canonical JSON: keys are the fields' names in the order of their numbers; no spaces; leaves equal to their
// declared default are left out, and so are groups that say nothing (an empty default member of a choice, an
// empty group that the resolver would make), so that a new field with a default changes no old fingerprint;
// incidental fields are left out; -0 is 0; doubles in their shortest form that reads back the same.
//
// Fingerprints are SHA-256 in lower-case hexadecimal. REQUIRES of all: the spec is resolved. Thread safety:
// pure functions, but for IdentityWriter.
#ifndef INLIER_PROTO_SPEC_CANONICAL_H_
#define INLIER_PROTO_SPEC_CANONICAL_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

std::string CanonicalJson(const google::protobuf::Message& message);

// Identity of the train stage: revision, seed, model, attention, norm, dropout, data and training.
std::string TrainFingerprint(const v1::TrialSpec& resolved);

// Identity of the evaluate stage: the train stage's, which stands for the checkpoint, with quantization and
// evaluation.
std::string EvaluateFingerprint(const v1::TrialSpec& resolved);

// The JSON that the store keeps: every value explicit, defaults and incidental fields included, names of the
// .proto files. Leaves without a value and without a default, and absent groups, are left out.
std::string ResolvedJson(const v1::TrialSpec& resolved);

struct TrialIdentity {
  std::string spec_json;             // ResolvedJson.
  std::string train_fingerprint;     // TrainFingerprint.
  std::string evaluate_fingerprint;  // EvaluateFingerprint.
};

// The three at once, for trials that resemble each other, as those of a sweep do: the texts of a group
// (model, training, …) that was there before are not written again. Thread safety: none.
class IdentityWriter {
 public:
  TrialIdentity Of(const v1::TrialSpec& resolved);

 private:
  static constexpr std::size_t kGroupsKept = 256;  // Of one field.

  struct FieldTexts {
    std::string canonical;
    std::string resolved;
  };
  // Of the index'th field by number, a group, present or not.
  const FieldTexts& Group(std::size_t index, const v1::TrialSpec& spec);

  std::vector<std::unordered_map<std::string, FieldTexts>> known_;  // By field: serialised group -> texts.
  std::string bytes_;
  std::string train_, train_sha256_;  // The latest.
};

// Reads ResolvedJson (or any proto JSON of a TrialSpec). InvalidArgument otherwise.
absl::StatusOr<v1::TrialSpec> TrialSpecFromJson(std::string_view json);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_CANONICAL_H_
