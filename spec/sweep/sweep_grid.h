// The points of a sweep, made one at a time: a grid without conditions and exclusions costs its axes, at 10^9 points too.
//
// Every axis becomes a list of (label, patch): a patch is a partial TrialSpec, merged over the base in the order of
// the axes. What paths name is the form of the sweep's trials. A point's index is a number in mixed radix, the first axis varying slowest. Some indexes name no point:
// indexes of exclusions, and those that would repeat a point because a conditional axis (`when`) does not apply there.
// With conditions or exclusions Create lists the points and refuses more than kRuledMax.
//
//   for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
//     GridPoint point = *grid.At(*index);
//     ...
//   }
//
// With `sampling` the points are samples: index = sample * (points of the axes with `each`) + index of one of these
// points. A sample is a function of the sampling and its number (sampled_grid.cc), or the point of that number which a sampler
// asked for (Append); repetitions are no points.
//
// Memory: O(values of the axes), 8 bytes a point with conditions or exclusions, and a bit an index with sampling.
// Thread safety: const after Create.
#ifndef INLIER_SPEC_SWEEP_SWEEP_GRID_H_
#define INLIER_SPEC_SWEEP_SWEEP_GRID_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/program/trial_form.h"
#include "spec/schema/field_path.h"
#include "spec/schema/limits.h"
#include "spec/schema/problems.h"
#include "spec/sweep/point_rules.h"
#include "spec/sweep/sampling.h"
#include "spec/values/ties.h"

namespace inlier {

// Axis name -> label, in the order of the axes; "" where a conditional axis does not apply.
using PointLabels = std::vector<std::pair<std::string, std::string>>;

struct GridPoint {
  std::uint64_t index = 0;
  PointLabels labels;
  v1::TrialSpec spec;  // Base, patches and ties; not resolved, not validated.
};

struct AxisInfo {
  std::string name;
  std::string field;                // Path for `field` axes, else "".
  std::vector<std::string> labels;  // Of an axis whose numbers are drawn: two ends.
  std::string range = {};           // Of such an axis: "1e-5 to 0.01, log"; else empty.
  bool each = false;                // With sampling: every sample runs with all of its points.
};

// An axis, compiled.
struct AxisPoints {
  std::vector<v1::TrialSpec> patches;  // By digit.
  bool sets_alike = false;             // All set the same fields, and other labels other values.
  std::map<std::uint32_t, std::vector<std::string>>
      unset;                           // By digit: paths that are null, which nothing may set there.
  std::string list;                    // Path of the values in SweepSpec; of a range: the range itself.
  std::vector<std::uint32_t> numbers;  // By digit: of the value in the list; empty: numbers of a range.
  std::string PathOf(std::uint32_t digit) const;
  std::uint64_t suffix = 1;  // Product of the lengths of the axes after it, at most kSizeMax.
};

// The field that an axis with a range or a normal distribution sets.
struct DrawnField {
  std::function<double(UnitNumber)> value;
  FieldPath field;
  v1::AxisRange range;  // SampleRange::resolved; of a normal distribution empty.
};

// One index of a sampled sweep.
struct GridSample {
  PointRules::Digits digits;   // 0 for ranges.
  std::vector<double> values;  // Of ranges.
  std::vector<bool> active;
};

struct SampledAxes {
  SamplePlan plan;
  std::vector<std::optional<DrawnField>> drawn;  // By axis; for those with a range or a normal distribution.
  std::vector<SampleWeights> weights;            // By axis.
  std::vector<int> dimension;                    // By axis; -1: each.
  std::vector<std::uint64_t> suffix;             // By axis: of those with `each`.
  std::uint64_t each_size;
  std::vector<GridSample> asked;  // By number, of a search.
  std::vector<bool> is_point;     // By index; of a search only where a point was asked for.
  std::unordered_map<std::string, std::uint64_t>
      first;                       // The point by KeyOf, in a search or where points start from others.
  SampledAxes() : each_size(1) {}  // Written out: clang 14 cannot make a default of a nested class here.
};

class SweepGrid {
 public:
  static constexpr std::uint64_t kSizeMax =
      0x7fffffffffffffffu;  // Of any larger grid; fits SQLite's integers.
  static constexpr int kAxesMax = Limits::kAxesMax;
  static constexpr int kValuesMax = Limits::kValuesMax;  // On one axis.
  static constexpr std::uint64_t kSampledMax = 100'000;  // Indexes of a sweep with sampling.
  static constexpr std::uint64_t kRuledMax = 1'000'000;  // Points of a sweep with conditions or exclusions.
  static constexpr int kPointsChecked = 1000;  // The first points, whose specifications are checked.

  // Checks the form of the axes, that what they name exists, types and ranges of all values, that no two axes set the
  // same field or choose different members of one choice at the same point, and that the points which conditions and
  // exclusions leave can be counted in bounded time. InvalidArgument with all problems; paths are those of SweepSpec
  // ("axes[1].values[0]"). Without conditions and exclusions the time grows with the file, not with the product.
  static absl::StatusOr<SweepGrid> Create(const v1::SweepSpec& sweep);
  // The same; problems go to `problems`, and nothing is returned when there are any.
  static std::optional<SweepGrid> Create(const v1::SweepSpec& sweep, Problems* problems);

  // Number of indexes: the product of the axes' lengths, at most kSizeMax.
  std::uint64_t size() const { return size_; }
  // Number of points, at most kSizeMax; at least 1. Those that a search is still to ask for count as if none of them were left out.
  std::uint64_t kept() const { return kept_; }

  // With sampling.optuna: points are asked for one after another.
  bool is_search() const { return sampled_ && sampled_->plan.is_search(); }
  // The indexes below it are decided: all of them, but for a search.
  std::uint64_t decided() const { return sampled_ ? sampled_->is_point.size() : size_; }
  // Adds points that were asked for, all or none. InvalidArgument names each that is wrong ("points[0].values.lr") and the
  // remedy; FailedPrecondition where there would be more than `trials`. REQUIRES: is_search().
  using SearchPoints = google::protobuf::RepeatedPtrField<v1::SearchPoint>;
  absl::Status Append(const SearchPoints& points);
  // Adds a point in the middle of everything, for checks that look at points, where there is none.
  void AppendExample();
  // The sample of values by axis name; with `part` some may be missing.
  std::optional<GridSample> SampleOf(const google::protobuf::Struct& values, bool part,
                                     const std::string& path, Problems* problems) const;
  // The range of an axis that is searched in one, with its ends resolved; null for the others.
  const v1::AxisRange* SearchedRange(std::size_t axis) const;

  // The first index >= from that is a point.
  std::optional<std::uint64_t> NextIndex(std::uint64_t from) const;

  // The point of an index. OutOfRange beyond size(); NotFound where the index names no point; InvalidArgument where a tie
  // cannot be followed.
  absl::StatusOr<GridPoint> At(std::uint64_t index) const;
  // The same into an empty spec, which may live in an arena; returns the labels. A tie's problem goes to `untied` if given.
  absl::StatusOr<PointLabels> At(std::uint64_t index, v1::TrialSpec* spec,
                                 std::optional<Problem>* untied = nullptr) const;

  // Some point has training.start_from.point.
  bool starts_from_points() const { return starts_from_points_; }
  // The index of the point whose training that of `index`, a point, starts from; `named` is the latter's
  // training.start_from.point. Always smaller, so that there is no cycle. InvalidArgument with the problem and remedy.
  absl::StatusOr<std::uint64_t> StartOf(std::uint64_t index, const std::string& named) const;
  // The start_froms of base and axes that name a trial or a training, each with its path in SweepSpec.
  std::vector<std::pair<std::string, v1::StartFromSpec>> Starts() const;

  // Resolves and validates points that together use every value of every axis (`values_max` of each axis, spread
  // evenly, with both ends), and the first kCheckedMax points with training.start_from.point. Problems are reported
  // under the path of the value, with the labels of the point; trials fail with those that are not found here.
  static constexpr std::uint32_t kCheckedMax = 1000;
  void CheckValues(Problems* problems, std::uint32_t values_max = kCheckedMax) const;

  // "256 samples, Sobol, scrambled, seed 1"; empty for the whole product.
  std::string sampling() const { return sampled_ ? sampled_->plan.ToString() : ""; }
  // One for each axis of the sweep, in its order.
  const std::vector<AxisInfo>& axes() const { return axes_; }
  // The message that its paths name.
  const TrialForm& form() const { return *form_; }

 private:
  friend class SweepGridBuilder;
  friend class SweepEdit;

  using Digits = PointRules::Digits;
  using Sample = GridSample;

  SweepGrid() = default;
  std::uint32_t length(std::size_t axis) const {
    return static_cast<std::uint32_t>(points_[axis].patches.size());
  }
  // True where the index, below size(), names a point.
  bool IsPoint(std::uint64_t index) const;
  Digits DigitsOf(std::uint64_t index) const;
  std::optional<std::uint64_t> IndexOf(const Digits& digits) const;
  // Sets the tied fields of a point.
  std::optional<Problem> Tie(v1::TrialSpec* spec) const;
  // Fills an empty spec; returns the labels.
  PointLabels PointOf(const Digits& digits, const std::vector<bool>& active, v1::TrialSpec* spec) const;

  // sweep_grid_conditions.cc.
  // Adds the size, the rules, the points that they leave, and the problems where axes conflict.
  void CompileConditions(const v1::SweepSpec& sweep, Problems* problems);
  class Conditions;

  // start_points.cc.
  class StartNames;
  // Digits of a point, and which axes apply there.
  std::pair<Digits, std::vector<bool>> PlaceOf(std::uint64_t index) const;
  // OK when the chain of trainings that ends with this point, whose spec is given, can be followed to its start.
  absl::Status CheckStart(std::uint64_t index, const v1::TrialSpec& spec) const;

  // sampled_grid.cc.
  // Decides which axes are drawn and which are crossed.
  void CompileSampling(const v1::SamplingSpec& spec, Problems* problems);
  // Draws every index once to find the points.
  void FindSampledPoints(Problems* problems);
  // Decides the next index.
  void AddSampled(std::uint64_t index);
  bool IsDrawn(std::size_t axis) const { return sampled_->dimension[axis] >= 0; }
  Sample Draw(std::uint64_t index) const;
  // Also fills `active`.
  bool IsSampledPoint(Sample& sample) const;
  // Equal for samples that are the same trial.
  std::string KeyOf(const Sample& sample) const;
  PointLabels PointOf(const Sample& sample, v1::TrialSpec* spec) const;

  std::shared_ptr<const TrialForm> form_ = TrialForm::OfModels();
  v1::TrialSpec base_;
  std::vector<AxisInfo> axes_;
  std::vector<AxisPoints> points_;
  // Not null after Create; shared by copies. With sampling a range has its two ends as digits.
  std::shared_ptr<const PointRules> rules_;
  // The indexes of the points, ascending; null where every index is a point, and with sampling.
  std::shared_ptr<const std::vector<std::uint64_t>> ruled_;
  std::optional<SampledAxes> sampled_;
  std::shared_ptr<const Ties> ties_;  // Null without any.
  std::uint64_t size_ = 1;
  std::uint64_t kept_ = 0;
  bool starts_from_points_ = false;
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_SWEEP_GRID_H_
