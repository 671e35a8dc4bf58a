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

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "inlier/v1/trial_spec.pb.h"
#include "proto/spec/spec_parts.h"

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
  std::string train_fingerprint;     // TrainFingerprint.
  std::string evaluate_fingerprint;  // EvaluateFingerprint.
  // ResolvedJson in pieces: what is in no group, as an object, and by kSpecGroups the objects, null where the
  // group is absent. Trials that have a group alike get the same pointer, as long as it is remembered.
  std::string rest_json;
  std::vector<std::shared_ptr<const std::string>> groups;
  std::string rest_packed;  // The serialised spec without its groups.
};

// Identities of trials that resemble each other, as those of a sweep do: a group (model, training, …) that
// was there before is neither written nor checked again. Thread safety: none.
class IdentityWriter {
 public:
  // Reads a resolved spec, which `packed` says too, serialised. Both must outlive the calls below, which are
  // of it.
  void Read(const v1::TrialSpec& resolved, std::string_view packed);
  // Whether CheckDeclarations (param_range.h) has nothing against it.
  bool declarations_hold() const { return declarations_hold_; }
  TrialIdentity Identity();
  // About how much memory the groups take that are remembered.
  std::size_t RememberedBytes() const;
  // Forgets the groups of the fields that take most, until the rest takes no more than this.
  void Trim(std::size_t bytes);

 private:
  // Of one field; the inner axes of a grid come round again.
  static constexpr std::size_t kGroupsKept = 2048;

  struct Group {
    std::string canonical;                      // `"model":{…}`, or nothing.
    std::shared_ptr<const std::string> object;  // Resolved; null: absent.
    bool declarations_hold = true;
  };
  struct KnownGroups {
    std::unordered_map<std::string, Group> by_bytes;  // Serialised.
    const std::pair<const std::string, Group>* last = nullptr;
    std::size_t bytes = 0;  // Of their texts, and what a small text takes beside.
  };
  const Group& GroupOf(std::size_t index, std::string_view bytes);
  void Forget(KnownGroups& known);
  const std::string& TrainFingerprintOfRead();

  std::array<KnownGroups, kSpecGroups.size()> known_;
  const Group absent_{};
  // Of the spec that was read.
  const v1::TrialSpec* spec_ = nullptr;
  std::string_view packed_;
  std::array<const Group*, kSpecGroups.size()> groups_{};
  bool declarations_hold_ = false;
  // Of the training that was last asked for.
  std::array<const Group*, kSpecGroups.size()> train_groups_{};
  std::string train_leaves_, train_sha256_;
};

// Reads ResolvedJson (or any proto JSON of a TrialSpec). InvalidArgument otherwise.
absl::StatusOr<v1::TrialSpec> TrialSpecFromJson(std::string_view json);

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_CANONICAL_H_
