#include "spec/sweep/sweep_grid.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/status.h"
#include "google/protobuf/arena.h"
#include "spec/sweep/point_labels.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

constexpr std::uint64_t kCheckStepsMax = 5'000'000;  // Steps to find the points of CheckValues.

}  // namespace

std::string AxisPoints::PathOf(std::uint32_t digit) const {
  if (numbers.empty()) return list + (digit == 0 ? ".min" : digit + 1 == patches.size() ? ".max" : "");
  return list + "[" + std::to_string(numbers[digit]) + "]";
}

SweepGrid::Digits SweepGrid::DigitsOf(std::uint64_t index) const {
  Digits digits(points_.size());
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    digits[axis] = static_cast<std::uint32_t>(index / points_[axis].suffix % length(axis));
  }
  return digits;
}

std::optional<std::uint64_t> SweepGrid::IndexOf(const Digits& digits) const {
  unsigned __int128 index = 0;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    index += static_cast<unsigned __int128>(digits[axis]) * points_[axis].suffix;
  }
  if (index >= size_) return std::nullopt;
  return static_cast<std::uint64_t>(index);
}

std::optional<std::uint64_t> SweepGrid::NextIndex(std::uint64_t from) const {
  if (from >= size_) return std::nullopt;
  if (sampled_) {
    const auto& is_point = sampled_->is_point;
    if (from >= is_point.size()) return std::nullopt;
    const auto at = std::find(is_point.begin() + static_cast<std::ptrdiff_t>(from), is_point.end(), true);
    if (at == is_point.end()) return std::nullopt;
    return static_cast<std::uint64_t>(at - is_point.begin());
  }
  if (!ruled_) return from;
  const auto at = std::lower_bound(ruled_->begin(), ruled_->end(), from);
  return at == ruled_->end() ? std::nullopt : std::optional(*at);
}

bool SweepGrid::IsPoint(std::uint64_t index) const {
  if (sampled_) return index < decided() && sampled_->is_point[index];
  return !ruled_ || std::binary_search(ruled_->begin(), ruled_->end(), index);
}

absl::StatusOr<GridPoint> SweepGrid::At(std::uint64_t index) const {
  GridPoint point;
  ASSIGN_OR_RETURN(point.labels, At(index, &point.spec));
  point.index = index;
  return point;
}

absl::StatusOr<PointLabels> SweepGrid::At(std::uint64_t index, v1::TrialSpec* spec,
                                          std::optional<Problem>* untied) const {
  if (index >= size_) {
    return absl::OutOfRangeError("point " + std::to_string(index) + " is beyond the grid's " +
                                 std::to_string(size_));
  }
  if (!IsPoint(index)) {
    return absl::NotFoundError(
        "index " + std::to_string(index) + " names no point: it is excluded, or repeats " +
        (sampled_ ? "an earlier sample" : "one in which a conditional axis does not apply"));
  }
  PointLabels labels;
  if (sampled_) {
    Sample sample = Draw(index);
    IsSampledPoint(sample);
    labels = PointOf(sample, spec);
  } else {
    const Digits digits = DigitsOf(index);
    labels = PointOf(digits, rules_->Active(digits), spec);
  }
  std::optional<Problem> problem = Tie(spec);
  if (problem && untied == nullptr) return absl::InvalidArgumentError(problem->path + ": " + problem->text);
  if (untied != nullptr) *untied = std::move(problem);
  return labels;
}

std::optional<Problem> SweepGrid::Tie(v1::TrialSpec* spec) const {
  if (!ties_) return std::nullopt;
  if (!form_->is_program()) return ties_->Apply(spec);
  Problems of_form;  // Found in the base and the patches.
  const std::unique_ptr<google::protobuf::Message> point = form_->Read(*spec, &of_form);
  std::optional<Problem> problem = ties_->Apply(point.get());
  form_->Write(*point, spec);
  return problem;
}

PointLabels SweepGrid::PointOf(const Digits& digits, const std::vector<bool>& active,
                               v1::TrialSpec* spec) const {
  PointLabels labels;
  labels.reserve(points_.size());
  *spec = base_;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    labels.emplace_back(axes_[axis].name, active[axis] ? axes_[axis].labels[digits[axis]] : "");
    if (active[axis]) spec->MergeFrom(points_[axis].patches[digits[axis]]);
  }
  return labels;
}

namespace {

// Finds problems of trials that resemble each other, with paths of their form.
class TrialChecker {
 public:
  explicit TrialChecker(const TrialForm& form) : form_(form), arena_block_(new char[kArenaBytes]) {
    google::protobuf::ArenaOptions options;
    options.initial_block = arena_block_.get();
    options.initial_block_size = kArenaBytes;
    arena_.emplace(options);
  }

  // An empty specification, until the next call.
  v1::TrialSpec* Next() {
    arena_->Reset();
    return google::protobuf::Arena::CreateMessage<v1::TrialSpec>(&*arena_);
  }
  // The problems of what Next() gave and the caller filled; changes it.
  std::vector<Problem> ProblemsOf(v1::TrialSpec* spec) {
    if (const absl::Status resolved = form_.Resolve(spec); !resolved.ok()) {
      // "path: text"
      const std::string message(resolved.message());
      const std::size_t colon = message.find(": ");
      return {{message.substr(0, colon), message.substr(colon + 2)}};
    }
    return form_.Find(*spec, validator_).kept();
  }

 private:
  static constexpr std::size_t kArenaBytes = 16 * 1024;  // It grows where more are needed.
  const TrialForm& form_;
  std::unique_ptr<char[]> arena_block_;
  std::optional<google::protobuf::Arena> arena_;
  SeriesValidator validator_;
};

// True when `path` is set in the partial spec, or lies below or above a member that it chooses.
bool Sets(const google::protobuf::Message& patch, const std::string& path) {
  const std::size_t dot = path.find('.');
  const auto* field = patch.GetDescriptor()->FindFieldByName(path.substr(0, dot));
  if (field == nullptr || !patch.GetReflection()->HasField(patch, field)) return false;
  if (dot == std::string::npos || !IsGroup(field)) return true;
  return Sets(patch.GetReflection()->GetMessage(patch, field), path.substr(dot + 1));
}

}  // namespace

void SweepGrid::CheckValues(Problems* problems, std::uint32_t values_max) const {
  std::uint64_t budget = kCheckStepsMax;
  const std::optional<Digits> first = rules_->First({}, &budget);
  if (!first) return;
  std::set<std::pair<std::string, std::string>> reported;
  // Reports each problem once, under `suspect` or the last axis that sets its field, else under the base.
  const auto report = [&](const Problem& problem, const Digits& digits, const std::vector<bool>& active,
                          const PointLabels& labels, int suspect) {
    const bool is_tie = problem.path.starts_with("tied.");  // Its text has the numbers of the point.
    if (!reported.emplace(problem.path, is_tie ? "" : problem.text).second) return;
    const std::string where = " (in the trial " + LabelsText(labels) + ")";
    if (is_tie) return problems->Add(problem.path, problem.text + where);
    if (ties_ && ties_->Has(problem.path)) return problems->Add("tied." + problem.path, problem.text + where);
    int axis = suspect;
    for (std::size_t i = 0; i < points_.size() && suspect < 0; ++i) {
      Problems ignored;
      if (active[i] && Sets(*form_->Read(points_[i].patches[digits[i]], &ignored), problem.path))
        axis = static_cast<int>(i);
    }
    if (axis < 0) return problems->Add("base." + problem.path, problem.text);
    const auto at = static_cast<std::size_t>(axis);
    problems->Add(points_[at].PathOf(digits[at]), problem.path + ": " + problem.text + where);
  };
  // The tie and the start of a point.
  const auto check_place = [&](std::uint64_t index) {
    v1::TrialSpec spec;
    std::optional<Problem> untied;
    const absl::StatusOr<PointLabels> labels = At(index, &spec, &untied);
    if (!labels.ok()) return;
    if (untied) return report(*untied, {}, {}, *labels, -1);
    if (!spec.training().start_from().has_point()) return;
    const absl::Status status = CheckStart(index, spec);
    if (status.ok()) return;
    const auto [digits, active] = PlaceOf(index);
    report({"training.start_from.point", std::string(status.message())}, digits, active, *labels, -1);
  };
  TrialChecker checker(*form_);
  const auto check = [&](const Digits& digits, int suspect) {
    const std::vector<bool> active = rules_->Active(digits);
    v1::TrialSpec* const spec = checker.Next();
    const PointLabels labels = PointOf(digits, active, spec);
    if (const std::optional<Problem> untied = Tie(spec)) {
      if (!sampled_)
        report(*untied, digits, active, labels, suspect);  // Else the ends of ranges are no samples.
      return;
    }
    const bool starts = spec->training().start_from().has_point() && !sampled_;
    for (const Problem& problem : checker.ProblemsOf(spec)) report(problem, digits, active, labels, suspect);
    if (const std::optional<std::uint64_t> index = starts ? IndexOf(digits) : std::nullopt)
      check_place(*index);
  };
  check(*first, -1);
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    const std::uint64_t checked = std::min(length(axis), std::max(values_max, 2u));
    for (std::uint64_t i = 0; i < checked; ++i) {
      const auto digit = static_cast<std::uint32_t>(checked < 2 ? 0 : i * (length(axis) - 1) / (checked - 1));
      const std::optional<Digits> digits =
          rules_->First({{.axis = static_cast<int>(axis), .digits = {digit}}}, &budget);
      if (digits && *digits != *first) check(*digits, static_cast<int>(axis));
    }
  }
  std::optional<std::uint64_t> point = starts_from_points_ || ties_ ? NextIndex(0) : std::nullopt;
  for (std::uint32_t i = 0; point && i < values_max; ++i, point = NextIndex(*point + 1)) check_place(*point);
}

}  // namespace inlier
