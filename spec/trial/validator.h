// Checks that a trial can run: declarations (ranges, required fields) and what holds between fields.
#ifndef INLIER_SPEC_TRIAL_VALIDATOR_H_
#define INLIER_SPEC_TRIAL_VALIDATOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// Everything that is wrong with a resolved spec. Paths are those of TrialSpec.
Problems FindProblems(const v1::TrialSpec& resolved);

// FindProblems as a Status: InvalidArgument with one line `path: the value, what is allowed, the remedy` for
// each.
absl::Status Validate(const v1::TrialSpec& resolved);

// FindProblems for trials that resemble each other, as those of a sweep do: a group (model, training, …) that
// equals the latest one without problems is not checked by itself again. Thread safety: none.
class SeriesValidator {
 public:
  SeriesValidator();
  Problems Find(const v1::TrialSpec& resolved);

 private:
  struct Group {
    const google::protobuf::FieldDescriptor* field;
    std::string valid;  // Serialised: the latest whose declarations hold.
  };
  bool DeclarationsHold(const v1::TrialSpec& resolved);

  std::vector<Group> groups_;
};

// Resolve, then Validate.
absl::StatusOr<v1::TrialSpec> ResolveAndValidate(const v1::TrialSpec& spec);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_VALIDATOR_H_
