// The form of a sweep's trials: what its paths name. That is TrialSpec, or for a program of one's own a message made of its
// description, with the same options (range, default, symbol, column, required): reader, grid, checks and tables work over
// the descriptor.
//
// A program's message has `seed` and the parameters; groups of them are messages of their own. Points, patches and trials
// of a program are TrialSpecs too, with the parameters by name in `program`: stages, store and workers know one kind.
//
//   ASSIGN_OR_RETURN(const auto form, TrialForm::Of(sweep));
//   const std::unique_ptr<google::protobuf::Message> point = form->Read(sweep.base(), &problems);
//
// Thread safety: immutable. Messages of a form must not outlive it.
#ifndef INLIER_SPEC_PROGRAM_TRIAL_FORM_H_
#define INLIER_SPEC_PROGRAM_TRIAL_FORM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/message.h"
#include "inlier/v1/program.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/columns.h"
#include "spec/schema/problems.h"
#include "spec/trial/param_reference.h"
#include "spec/trial/validator.h"

namespace inlier {

class TrialForm {
 public:
  // TrialSpec itself.
  static const std::shared_ptr<const TrialForm>& OfModels();
  // InvalidArgument for a description with problems (FindProgramProblems).
  static absl::StatusOr<std::shared_ptr<const TrialForm>> OfProgram(const v1::ProgramUse& use);
  // Of the sweep's program, or OfModels.
  static absl::StatusOr<std::shared_ptr<const TrialForm>> Of(const v1::SweepSpec& sweep);

  bool is_program() const { return use_.has_description(); }
  const google::protobuf::Descriptor* descriptor() const { return prototype_->GetDescriptor(); }
  const std::shared_ptr<const MeasurementList>& measurements() const { return measurements_; }
  // The columns of the views that the trials have, and every parameter.
  std::vector<SpecColumn> columns() const;
  std::vector<ParamInfo> params() const;
  // Empty.
  std::unique_ptr<google::protobuf::Message> New() const;

  // Merges what `point`, a message of this form, has into `trial`.
  void Write(const google::protobuf::Message& point, v1::TrialSpec* trial) const;
  // The other way. What is not of this form goes to `problems`.
  std::unique_ptr<google::protobuf::Message> Read(const v1::TrialSpec& trial, Problems* problems) const;

  // Fills what is not given: as spec/trial/resolver.h, or a program's defaults, its name and its digest. InvalidArgument
  // "path: the problem".
  absl::Status Resolve(v1::TrialSpec* trial) const;
  // The problems of a resolved trial; paths are those of the form. `series`: for the trials of a sweep.
  Problems Find(const v1::TrialSpec& resolved, SeriesValidator& series) const;

 private:
  TrialForm() = default;

  v1::ProgramUse use_;  // Empty: TrialSpec.
  std::shared_ptr<const MeasurementList> measurements_;
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
  std::unique_ptr<google::protobuf::DynamicMessageFactory> factory_;
  const google::protobuf::Message* prototype_ = nullptr;
};

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_TRIAL_FORM_H_
