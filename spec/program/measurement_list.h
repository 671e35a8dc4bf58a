// The measurements that the trials of sweeps report: of our models the list of spec/trial/measurements.h, of a program of
// one's own those that its description declares.
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_PROGRAM_MEASUREMENT_LIST_H_
#define INLIER_SPEC_PROGRAM_MEASUREMENT_LIST_H_

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/program.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/trial/measurements.h"

namespace inlier {

class MeasurementList {
 public:
  static const std::shared_ptr<const MeasurementList>& OfModels();
  // By name; those of inlier's evaluation, where it evaluates the program's model, behind them.
  static std::shared_ptr<const MeasurementList> OfProgram(const v1::ProgramDescription& program);
  // Of the sweep's program, or OfModels.
  static std::shared_ptr<const MeasurementList> Of(const v1::SweepSpec& sweep);
  // Those of all `sweeps`, of which there is one at least. InvalidArgument where two disagree which number is better.
  static absl::StatusOr<std::shared_ptr<const MeasurementList>> Of(const std::vector<v1::SweepSpec>& sweeps);

  const std::vector<MeasurementInfo>& all() const { return all_; }
  // The first of them: what tables, figures and pages show of a program's sweep that names none.
  std::span<const MeasurementInfo> first() const {
    return std::span(all_).first(std::min<std::size_t>(all_.size(), 6));
  }
  // nullptr when there is none of that name. Lives as long as the list.
  const MeasurementInfo* Find(std::string_view name) const;

 private:
  MeasurementList() = default;

  v1::ProgramDescription description_;                          // Has the texts of `all_`,
  std::vector<std::shared_ptr<const MeasurementList>> joined_;  // or these have them.
  std::vector<MeasurementInfo> all_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_MEASUREMENT_LIST_H_
