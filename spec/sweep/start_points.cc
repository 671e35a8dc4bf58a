// SweepGrid: points whose training starts from that of another point.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {
namespace {

constexpr std::size_t kLabelsListed = 12;

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string LabelsOf(const AxisInfo& axis) {
  if (axis.labels.size() <= kLabelsListed) return absl::StrJoin(axis.labels, ", ");
  return absl::StrJoin(axis.labels.begin(), axis.labels.begin() + kLabelsListed, ", ") + ", ...";
}

}  // namespace

// The axes and labels of "axis=label, axis=label". Labels may have commas: the longest label that fits is taken.
class SweepGrid::StartNames {
 public:
  StartNames(const SweepGrid& grid, const std::string& text) : grid_(grid), text_(text) {}

  // Axis and digit, in the order of the text.
  absl::StatusOr<std::vector<std::pair<std::size_t, std::uint32_t>>> Read() {
    if (grid_.axes_.empty())
      return Problem("names another point, and this sweep has no axes; give start_from a path or a trial");
    std::vector<std::pair<std::size_t, std::uint32_t>> named;
    std::string_view rest = Trimmed(text_);
    do {
      const std::size_t equals = EqualsOf(rest);
      if (equals == std::string_view::npos)
        return Problem("is not of the form \"axis=label\", or several with \", \" between");
      ASSIGN_OR_RETURN(const std::size_t axis, AxisNamed(Trimmed(rest.substr(0, equals))));
      for (const auto& [other, digit] : named) {
        if (other == axis)
          return Problem(absl::StrCat("names axis ", grid_.axes_[axis].name, " twice; keep one label"));
      }
      rest = Trimmed(rest.substr(equals + 1));
      ASSIGN_OR_RETURN(const std::uint32_t digit, TakeLabel(axis, rest));
      named.emplace_back(axis, digit);
    } while (!rest.empty());
    return named;
  }

  absl::Status Problem(const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text_), " ", problem));
  }

 private:
  // The "=" behind the longest name of an axis that fits; names may have one.
  std::size_t EqualsOf(std::string_view rest) const {
    std::size_t equals = rest.find('='), longest = 0;
    for (const AxisInfo& axis : grid_.axes_) {
      if (!rest.starts_with(axis.name) || axis.name.size() <= longest) continue;
      const std::size_t behind = rest.find_first_not_of(' ', axis.name.size());
      if (behind == std::string_view::npos || rest[behind] != '=') continue;
      longest = axis.name.size();
      equals = behind;
    }
    return equals;
  }

  absl::StatusOr<std::size_t> AxisNamed(std::string_view name) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < grid_.axes_.size(); ++i) {
      const AxisInfo& axis = grid_.axes_[i];
      names.push_back(axis.name);
      if (name != axis.name && (axis.field.empty() || name != axis.field)) continue;
      if (!axis.range.empty())
        return Problem(
            absl::StrCat("names axis ", axis.name, ", whose numbers are drawn; name another axis"));
      if (grid_.sampled_ && !axis.each)
        return Problem(
            absl::StrCat("names axis ", axis.name,
                         ", whose labels are drawn; give that axis each: true, or name one that has it"));
      return i;
    }
    return Problem(absl::StrCat("names ", Quoted(name), ", which is not an axis of this sweep",
                                DidYouMean(name, names)));
  }

  // Takes the label, and the comma behind it, from the front of `rest`.
  absl::StatusOr<std::uint32_t> TakeLabel(std::size_t axis, std::string_view& rest) {
    const std::vector<std::string>& labels = grid_.axes_[axis].labels;
    std::size_t found = labels.size(), length = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!rest.starts_with(labels[i]) || labels[i].size() <= length) continue;
      const std::string_view behind = Trimmed(rest.substr(labels[i].size()));
      if (!behind.empty() && !behind.starts_with(',')) continue;
      found = i;
      length = labels[i].size();
    }
    if (found == labels.size()) {
      length = std::min(rest.find(','), rest.size());
      const std::string_view text = Trimmed(rest.substr(0, length));
      const auto at = LabelFinder(labels).Find(std::string(text));  // The same number in another spelling.
      if (!at) {
        return Problem(absl::StrCat("names ", Quoted(text), ", which is not a label of axis ",
                                    grid_.axes_[axis].name, "; there are ", LabelsOf(grid_.axes_[axis])));
      }
      found = *at;
    }
    rest = Trimmed(rest.substr(length));
    if (rest.empty()) return static_cast<std::uint32_t>(found);
    rest = Trimmed(rest.substr(1));
    if (rest.empty()) return Problem("ends with a comma; remove it, or name another axis behind it");
    return static_cast<std::uint32_t>(found);
  }

  const SweepGrid& grid_;
  const std::string& text_;
};

std::pair<SweepGrid::Digits, std::vector<bool>> SweepGrid::PlaceOf(std::uint64_t index) const {
  if (sampled_) {
    Sample sample = Draw(index);
    IsSampledPoint(sample);
    return {std::move(sample.digits), std::move(sample.active)};
  }
  Digits digits = DigitsOf(index);
  std::vector<bool> active = rules_->Active(digits);
  return {std::move(digits), std::move(active)};
}

absl::StatusOr<std::uint64_t> SweepGrid::StartOf(std::uint64_t index, const std::string& named) const {
  StartNames names(*this, named);
  ASSIGN_OR_RETURN(const auto labels, names.Read());
  const auto [digits, active] = PlaceOf(index);
  Digits target = digits;
  std::vector<bool> is_named(axes_.size());
  for (const auto& [axis, digit] : labels) {
    target[axis] = digit;
    is_named[axis] = true;
  }
  std::vector<bool> target_active;
  if (!rules_->Contains(target, &target_active, /*any_inactive_digit=*/true))
    return names.Problem(
        "names a point that an exclusion leaves out; name another one, or exclude this point too");
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const bool drawn = sampled_ && !axes_[axis].each;
    if (is_named[axis] && !target_active[axis])
      return names.Problem(
          absl::StrCat("names axis ", axes_[axis].name, ", which does not apply there (when); leave it out"));
    if (target_active[axis] && !active[axis] && !is_named[axis] && !drawn)
      return names.Problem(absl::StrCat("leaves open axis ", axes_[axis].name,
                                        ", which applies there and not here (when); add \", ",
                                        axes_[axis].name, "=LABEL\" with one of ", LabelsOf(axes_[axis])));
    if (!target_active[axis] && !drawn) target[axis] = 0;
  }
  std::size_t first = 0;  // Axis on which the two differ.
  while (first < axes_.size() && target[first] == digits[first]) ++first;
  if (first == axes_.size()) return names.Problem("is the point itself; name an earlier one");
  if (target[first] > digits[first]) {
    const AxisInfo& axis = axes_[first];
    return names.Problem(absl::StrCat("comes after this point: on axis ", axis.name, " ",
                                      axis.labels[target[first]], " is behind ", axis.labels[digits[first]],
                                      "; put it before, so that trainings start from earlier points"));
  }
  unsigned __int128 start = sampled_ ? index - index % sampled_->each_size : 0;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (sampled_ && !axes_[axis].each) continue;
    const std::uint64_t suffix = sampled_ ? sampled_->suffix[axis] : points_[axis].suffix;
    start += static_cast<unsigned __int128>(target[axis]) * suffix;
  }
  const auto at = static_cast<std::uint64_t>(start);
  if (!sampled_ || sampled_->is_point[at]) return at;
  // It repeats an earlier sample, whose training is the same.
  Sample sample = Draw(at);
  const auto same = IsSampledPoint(sample) ? sampled_->first.find(KeyOf(sample)) : sampled_->first.end();
  if (same != sampled_->first.end()) return same->second;
  return names.Problem("names a sample that is not a point of this sweep; name another one");
}

absl::Status SweepGrid::CheckStart(std::uint64_t index, const v1::TrialSpec& spec) const {
  std::string named = spec.training().start_from().point();
  for (int depth = 1;; ++depth) {
    if (depth > Limits::kStartsMax) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(spec.training().start_from().point()),
                                                     " is the last of more than ", Limits::kStartsMax,
                                                     " trainings in a row; make the row shorter"));
    }
    absl::StatusOr<std::uint64_t> start = StartOf(index, named);
    if (!start.ok())
      return depth == 1 ? start.status() : absl::OkStatus();  // That of another point is reported there.
    v1::TrialSpec next;
    RETURN_IF_ERROR(At(*start, &next).status());
    if (!next.training().start_from().has_point()) return absl::OkStatus();
    named = next.training().start_from().point();
    index = *start;
  }
}

std::vector<std::pair<std::string, v1::StartFromSpec>> SweepGrid::Starts() const {
  std::vector<std::pair<std::string, v1::StartFromSpec>> starts;
  const auto add = [&starts](const v1::TrialSpec& spec, const std::string& path) {
    const v1::StartFromSpec& start = spec.training().start_from();
    if (start.has_trial() || start.has_training()) starts.emplace_back(path, start);
  };
  add(base_, "base.training.start_from");
  for (const AxisPoints& axis : points_) {
    for (std::uint32_t digit = 0; digit < axis.patches.size(); ++digit)
      add(axis.patches[digit], axis.PathOf(digit));
  }
  return starts;
}

}  // namespace inlier
