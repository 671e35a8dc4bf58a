#include "spec/sweep/sweep_grid.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/status.h"
#include "google/protobuf/arena.h"
#include "spec/schema/number_text.h"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

constexpr std::uint64_t kVisitsMax = 1'000'000;  // Of a search or a count, before it is given up.

std::uint64_t Capped(unsigned __int128 value) {
  return value > SweepGrid::kSizeMax ? SweepGrid::kSizeMax : static_cast<std::uint64_t>(value);
}

}  // namespace

std::string SweepGrid::AxisPoints::PathOf(std::uint32_t digit) const {
  if (numbers.empty()) return list + (digit == 0 ? ".min" : ".max");
  return list + "[" + std::to_string(numbers[digit]) + "]";
}

SweepGrid::Digits SweepGrid::DigitsOf(std::uint64_t index) const {
  Digits digits(points_.size());
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    digits[axis] = static_cast<std::uint32_t>(index / points_[axis].suffix % length(axis));
  }
  return digits;
}

bool SweepGrid::Matches(const LabelSet& set, const Digits& digits, const std::vector<bool>& active) {
  const auto axis = static_cast<std::size_t>(set.axis);
  return active[axis] ? set.labels[digits[axis]] : set.where_inactive;
}

bool SweepGrid::IsActive(std::size_t axis, const Digits& digits, const std::vector<bool>& active) const {
  const std::vector<LabelSet>& when = points_[axis].when;
  return std::all_of(when.begin(), when.end(),
                     [&](const LabelSet& set) { return Matches(set, digits, active); });
}

bool SweepGrid::IsExcludedAt(std::size_t axis, const Digits& digits, const std::vector<bool>& active) const {
  return std::any_of(exclude_.begin(), exclude_.end(), [&](const ExclusionSets& exclusion) {
    return exclusion.last_axis == static_cast<int>(axis) &&
           std::all_of(exclusion.sets.begin(), exclusion.sets.end(),
                       [&](const LabelSet& set) { return Matches(set, digits, active); });
  });
}

bool SweepGrid::IsPoint(const Digits& digits, std::vector<bool>* active) const {
  active->assign(points_.size(), false);
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    (*active)[axis] = IsActive(axis, digits, *active);
    if (!(*active)[axis] && digits[axis] != 0) return false;
    if (IsExcludedAt(axis, digits, *active)) return false;
  }
  return true;
}

// Chooses digits from the first axis to the last. A class that failed under the same digits before it is not
// tried again, so that the work grows with the number of classes, not with the lengths of the axes.
class SweepGrid::Search {
 public:
  explicit Search(const SweepGrid& grid)
      : grid_(grid),
        digits_(grid.points_.size()),
        active_(grid.points_.size()),
        fixed_(grid.points_.size(), -1) {}

  void Fix(int axis, std::uint32_t digit) { fixed_[static_cast<std::size_t>(axis)] = digit; }
  void LimitVisits() { limited_ = true; }

  // The first point whose index is not below that of `from`.
  std::optional<Digits> First(const Digits& from) {
    from_ = &from;
    return Step(0, true) ? std::optional<Digits>(digits_) : std::nullopt;
  }

  // The number of points; nullopt when there is too much to visit.
  std::optional<std::uint64_t> Count() {
    limited_ = true;
    const unsigned __int128 count = CountFrom(0);
    return visits_ > kVisitsMax ? std::nullopt : std::optional<std::uint64_t>(Capped(count));
  }

 private:
  bool GivenUp() { return limited_ && ++visits_ > kVisitsMax; }

  bool Step(std::size_t axis, bool tight) {
    if (axis == digits_.size()) return true;
    if (GivenUp()) return false;
    active_[axis] = grid_.IsActive(axis, digits_, active_);
    const std::uint32_t first = tight ? (*from_)[axis] : 0;
    if (!active_[axis]) {
      // A fixed digit asks for a point where the axis applies.
      if (first > 0 || fixed_[axis] >= 0) return false;
      digits_[axis] = 0;
      return !grid_.IsExcludedAt(axis, digits_, active_) && Step(axis + 1, tight);
    }
    const AxisPoints& points = grid_.points_[axis];
    std::vector<bool> failed(points.class_sizes.size());
    std::size_t failures = 0;
    const bool is_fixed = fixed_[axis] >= 0;
    const auto only = static_cast<std::uint32_t>(fixed_[axis]);
    const std::uint32_t end = is_fixed ? only + 1 : grid_.length(axis);
    for (std::uint32_t digit = is_fixed ? std::max(first, only) : first;
         digit < end && failures < failed.size(); ++digit) {
      const auto label_class = static_cast<std::size_t>(points.class_of[digit]);
      const bool still_tight = tight && digit == first;
      if (failed[label_class]) continue;
      digits_[axis] = digit;
      active_[axis] = true;
      const bool excluded = grid_.IsExcludedAt(axis, digits_, active_);
      if (!excluded && Step(axis + 1, still_tight)) return true;
      if (limited_ && visits_ > kVisitsMax) return false;
      if (excluded || !still_tight) {
        failed[label_class] = true;
        ++failures;
      }
    }
    return false;
  }

  unsigned __int128 CountFrom(std::size_t axis) {
    if (axis == digits_.size()) return 1;
    if (GivenUp()) return 0;
    active_[axis] = grid_.IsActive(axis, digits_, active_);
    if (!active_[axis]) {
      digits_[axis] = 0;
      return grid_.IsExcludedAt(axis, digits_, active_) ? 0 : CountFrom(axis + 1);
    }
    const AxisPoints& points = grid_.points_[axis];
    std::vector<bool> seen(points.class_sizes.size());
    unsigned __int128 count = 0;
    for (std::uint32_t digit = 0; digit < grid_.length(axis); ++digit) {
      const auto label_class = static_cast<std::size_t>(points.class_of[digit]);
      if (seen[label_class]) continue;
      seen[label_class] = true;
      digits_[axis] = digit;
      active_[axis] = true;
      if (grid_.IsExcludedAt(axis, digits_, active_)) continue;
      count += static_cast<unsigned __int128>(points.class_sizes[label_class]) * Capped(CountFrom(axis + 1));
      if (count > kSizeMax) count = kSizeMax;
    }
    return count;
  }

  const SweepGrid& grid_;
  Digits digits_;
  std::vector<bool> active_;
  std::vector<std::int64_t> fixed_;
  const Digits* from_ = nullptr;
  bool limited_ = false;
  std::uint64_t visits_ = 0;
};

std::optional<std::uint64_t> SweepGrid::CountPoints() const { return Search(*this).Count(); }

std::optional<SweepGrid::Digits> SweepGrid::FindPoint(
    const std::vector<std::pair<int, std::uint32_t>>& fixed) const {
  Search search(*this);
  search.LimitVisits();
  for (const auto& [axis, digit] : fixed) search.Fix(axis, digit);
  return search.First(Digits(points_.size(), 0));
}

std::optional<std::uint64_t> SweepGrid::NextIndex(std::uint64_t from) const {
  if (from >= size_) return std::nullopt;
  if (sampled_) {
    const auto& is_point = sampled_->is_point;
    const auto at = std::find(is_point.begin() + static_cast<std::ptrdiff_t>(from), is_point.end(), true);
    if (at == is_point.end()) return std::nullopt;
    return static_cast<std::uint64_t>(at - is_point.begin());
  }
  const std::optional<Digits> digits = Search(*this).First(DigitsOf(from));
  if (!digits) return std::nullopt;
  unsigned __int128 index = 0;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    index += static_cast<unsigned __int128>((*digits)[axis]) * points_[axis].suffix;
  }
  if (index >= size_) return std::nullopt;
  return static_cast<std::uint64_t>(index);
}

absl::StatusOr<GridPoint> SweepGrid::At(std::uint64_t index) const {
  GridPoint point;
  ASSIGN_OR_RETURN(point.labels, At(index, &point.spec));
  point.index = index;
  return point;
}

absl::StatusOr<PointLabels> SweepGrid::At(std::uint64_t index, v1::TrialSpec* spec) const {
  if (index >= size_) {
    return absl::OutOfRangeError("point " + std::to_string(index) + " is beyond the grid's " +
                                 std::to_string(size_));
  }
  const Digits digits = sampled_ ? Digits() : DigitsOf(index);
  std::vector<bool> active;
  if (sampled_ ? !sampled_->is_point[index] : !IsPoint(digits, &active)) {
    return absl::NotFoundError(
        "index " + std::to_string(index) + " names no point: it is excluded, or repeats " +
        (sampled_ ? "an earlier sample" : "one in which a conditional axis does not apply"));
  }
  if (!sampled_) return PointOf(digits, active, spec);
  Sample sample = Draw(index);
  IsSampledPoint(sample);
  return PointOf(sample, spec);
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

// Problems of trials that resemble each other: paths of TrialSpec, which are not yet assigned to an axis.
class TrialChecker {
 public:
  TrialChecker() : arena_block_(new char[kArenaBytes]) {
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
  // Of what Next() gave and was filled; changes it.
  std::vector<Problem> ProblemsOf(v1::TrialSpec* spec) {
    if (const absl::Status resolved = ResolveInPlace(spec); !resolved.ok()) {
      // "path: text"
      const std::string message(resolved.message());
      const std::size_t colon = message.find(": ");
      return {{message.substr(0, colon), message.substr(colon + 2)}};
    }
    return validator_.Find(*spec).kept();
  }

 private:
  static constexpr std::size_t kArenaBytes = 16 * 1024;  // It grows where more are needed.
  std::unique_ptr<char[]> arena_block_;
  std::optional<google::protobuf::Arena> arena_;
  SeriesValidator validator_;
};

// True when `path` is set in the partial spec, or lies below or above something that it sets by choosing a
// member.
bool Sets(const google::protobuf::Message& patch, const std::string& path) {
  const std::size_t dot = path.find('.');
  const auto* field = patch.GetDescriptor()->FindFieldByName(path.substr(0, dot));
  if (field == nullptr || !patch.GetReflection()->HasField(patch, field)) return false;
  if (dot == std::string::npos || field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE)
    return true;
  return Sets(patch.GetReflection()->GetMessage(patch, field), path.substr(dot + 1));
}

}  // namespace

void SweepGrid::CheckValues(Problems* problems, std::uint32_t values_max) const {
  const std::optional<Digits> first = FindPoint({});
  if (!first) return;
  std::set<std::pair<std::string, std::string>> reported;
  // Reports each problem once, under the last axis that sets its field, or else under the base, or under
  // `axis`.
  TrialChecker checker;
  const auto check = [&](const Digits& digits, int suspect) {
    std::vector<bool> active;
    if (!IsPoint(digits, &active)) return;
    v1::TrialSpec* const spec = checker.Next();
    const PointLabels labels = PointOf(digits, active, spec);
    for (const Problem& problem : checker.ProblemsOf(spec)) {
      if (!reported.emplace(problem.path, problem.text).second) continue;
      int axis = suspect;
      for (std::size_t i = 0; i < points_.size() && suspect < 0; ++i) {
        if (active[i] && Sets(points_[i].patches[digits[i]], problem.path)) axis = static_cast<int>(i);
      }
      if (axis < 0) {
        problems->Add("base." + problem.path, problem.text);
        continue;
      }
      std::string where;
      for (const auto& [name, label] : labels) {
        if (!label.empty()) where += (where.empty() ? "" : ", ") + name + "=" + label;
      }
      const auto at = static_cast<std::size_t>(axis);
      problems->Add(points_[at].PathOf(digits[at]),
                    problem.path + ": " + problem.text + " (in the trial " + where + ")");
    }
  };
  check(*first, -1);
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    const std::uint64_t checked = std::min(length(axis), std::max(values_max, 2u));
    for (std::uint64_t i = 0; i < checked; ++i) {
      const auto digit = static_cast<std::uint32_t>(checked < 2 ? 0 : i * (length(axis) - 1) / (checked - 1));
      const std::optional<Digits> digits = FindPoint({{static_cast<int>(axis), digit}});
      if (digits && *digits != *first) check(*digits, static_cast<int>(axis));
    }
  }
}

}  // namespace inlier
