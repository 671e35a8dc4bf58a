// Checks that a trial can run: declarations (ranges, required fields) and rules between fields.
#ifndef INLIER_SPEC_TRIAL_VALIDATOR_H_
#define INLIER_SPEC_TRIAL_VALIDATOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// All problems of a resolved spec. Paths are those of TrialSpec.
Problems FindProblems(const v1::TrialSpec& resolved);

// FindProblems as a Status: InvalidArgument with a line `path: the value, the rule, the remedy` for each.
absl::Status Validate(const v1::TrialSpec& resolved);

// FindProblems for the similar trials of a sweep: the declarations of a group (model, training, …) that equals the latest
// one without problems are not checked again. Thread safety: none.
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
