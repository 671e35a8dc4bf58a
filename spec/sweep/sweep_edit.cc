#include "spec/sweep/sweep_edit.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace inlier {
namespace {

using google::protobuf::util::MessageDifferencer;

std::vector<std::string> NamesOf(const SweepGrid& grid) {
  std::vector<std::string> names;
  for (const AxisInfo& axis : grid.axes()) names.push_back(axis.name);
  return names;
}

std::string OrNone(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

bool SameConditions(const v1::SweepSpec& from, const v1::SweepSpec& to) {
  if (from.exclude_size() != to.exclude_size() || from.axes_size() != to.axes_size()) return false;
  for (int i = 0; i < from.exclude_size(); ++i) {
    if (!MessageDifferencer::Equals(from.exclude(i), to.exclude(i))) return false;
  }
  for (int i = 0; i < from.axes_size(); ++i) {
    v1::Axis old_axis, new_axis;
    *old_axis.mutable_when() = from.axes(i).when();
    *new_axis.mutable_when() = to.axes(i).when();
    if (!MessageDifferencer::Equals(old_axis, new_axis)) return false;
  }
  return true;
}

// True when the two draw from the same axes in the same way.
bool SamePoints(v1::SweepSpec from, v1::SweepSpec to) {
  v1::SweepSpec a, b;
  for (auto [spec, kept] : {std::pair(&from, &a), std::pair(&to, &b)}) {
    if (spec->has_sampling()) *kept->mutable_sampling() = spec->sampling();
    if (spec->sampling().has_optuna()) {  // How many more are asked for, and how many at once.
      kept->mutable_sampling()->mutable_optuna()->clear_trials();
      kept->mutable_sampling()->mutable_optuna()->clear_parallel();
    }
    kept->mutable_axes()->Swap(spec->mutable_axes());
    kept->mutable_exclude()->Swap(spec->mutable_exclude());
  }
  return MessageDifferencer::Equals(a, b);
}

absl::Status NotEditable(const auto&... why) {
  return absl::FailedPreconditionError(
      absl::StrCat(why..., "; submit a sweep of its own (what is already trained is not trained again)"));
}

absl::Status CheckEditable(const v1::SweepSpec& from, const SweepGrid& from_grid, const v1::SweepSpec& to,
                           const SweepGrid& to_grid) {
  if (from.name() != to.name()) {
    return absl::FailedPreconditionError(
        absl::StrCat("name: the sweep is called ", from.name(), ", not ", to.name(),
                     "; give the file of this sweep, or submit another one"));
  }
  if (from.program().name() != to.program().name() || from.program().digest() != to.program().digest()) {
    return absl::FailedPreconditionError(
        "program: its source has changed since the sweep began, so this is another sweep: submit it as a new "
        "one "
        "(results are used again only where the source is the same), or put the source back");
  }
  if (!MessageDifferencer::Equals(from.base(), to.base())) {
    MessageDifferencer differences;
    std::string report;
    differences.ReportDifferencesToString(&report);
    differences.Compare(from.base(), to.base());
    return NotEditable("base: it decides every trial and cannot be edited (",
                       report.substr(0, report.find('\n')), ")");
  }
  if (std::map(from.tied().begin(), from.tied().end()) != std::map(to.tied().begin(), to.tied().end()))
    return NotEditable("tied: it decides every trial and cannot be edited");
  if (!MessageDifferencer::Equals(from.pruning(), to.pruning()))
    return NotEditable("pruning: decisions were made by it and are kept, so it cannot be edited");
  if ((from.has_sampling() || to.has_sampling()) && !SamePoints(from, to))
    return NotEditable(
        "sampling: the points of a sampled sweep are drawn from its axes, so sampling, axes and exclude "
        "cannot be edited (limits, priority and weight, and optuna's trials and parallel can)");
  const std::vector<std::string> old_names = NamesOf(from_grid), new_names = NamesOf(to_grid);
  if (std::is_permutation(old_names.begin(), old_names.end(), new_names.begin(), new_names.end()))
    return absl::OkStatus();
  return NotEditable("axes: the sweep has ", OrNone(old_names), ", the edit ", OrNone(new_names),
                     "; values of an axis may come and go, axes may not");
}

}  // namespace

absl::StatusOr<SweepEdit> SweepEdit::Create(const v1::SweepSpec& from, SweepGrid from_grid,
                                            const v1::SweepSpec& to, SweepGrid to_grid) {
  RETURN_IF_ERROR(CheckEditable(from, from_grid, to, to_grid));
  SweepEdit edit(std::move(from_grid), std::move(to_grid));
  bool same_order = true;
  bool same_values = true;  // On every axis but the first.
  bool first_grows = true;  // The first axis has its old values in front.
  unsigned __int128 product = 1;
  for (std::size_t axis = 0; axis < edit.from_.axes_.size(); ++axis) {
    std::size_t at = 0;
    while (edit.to_.axes_[at].name != edit.from_.axes_[axis].name) ++at;
    edit.axis_of_.push_back(static_cast<int>(at));
    same_order = same_order && at == axis;
    const std::vector<std::string>& new_labels = edit.to_.axes_[at].labels;
    std::unordered_map<std::string, std::uint32_t> digits;
    for (std::uint32_t digit = 0; digit < new_labels.size(); ++digit)
      digits.emplace(new_labels[digit], digit);
    std::vector<std::uint32_t>& map = edit.digit_of_.emplace_back();
    std::uint64_t found = 0;
    bool in_place = true;
    for (std::uint32_t digit = 0; digit < edit.from_.length(axis); ++digit) {
      const auto same = digits.find(edit.from_.axes_[axis].labels[digit]);
      const bool stays =
          same != digits.end() && MessageDifferencer::Equals(edit.from_.points_[axis].patches[digit],
                                                             edit.to_.points_[at].patches[same->second]);
      map.push_back(stays ? same->second : kGone);
      found += stays ? 1 : 0;
      in_place = in_place && stays && same->second == digit;
    }
    if (axis == 0) {
      first_grows = in_place;
    } else {
      same_values = same_values && in_place && edit.from_.length(axis) == edit.to_.length(at);
    }
    product = std::min<unsigned __int128>(product * found, SweepGrid::kSizeMax);
  }
  edit.only_appends_ = same_order && same_values && first_grows && SameConditions(from, to);
  if (edit.only_appends_) {
    edit.common_ = std::min(edit.from_.kept(), edit.to_.kept());
  } else if (!edit.from_.ruled_ && !edit.to_.ruled_) {
    edit.common_ = static_cast<std::uint64_t>(product);
  } else if (edit.from_.kept() <= kCountedMax) {
    edit.common_ = edit.CountCommon();
  }
  if (edit.from_.starts_from_points() && !edit.only_appends_) edit.common_.reset();
  return edit;
}

std::optional<std::uint64_t> SweepEdit::NewIndex(std::uint64_t old_index) const {
  const std::optional<std::uint64_t> index = NewIndexAlone(old_index);
  if (!index || !from_.starts_from_points()) return index;
  std::uint64_t from = old_index, to = *index;
  for (int depth = 0; depth <= Limits::kStartsMax; ++depth) {
    v1::TrialSpec spec;
    if (!from_.At(from, &spec).ok()) return std::nullopt;
    if (!spec.training().start_from().has_point()) return index;
    const absl::StatusOr<std::uint64_t> start = from_.StartOf(from, spec.training().start_from().point());
    const absl::StatusOr<std::uint64_t> new_start = to_.StartOf(to, spec.training().start_from().point());
    if (!start.ok() || !new_start.ok() || NewIndexAlone(*start) != *new_start) return std::nullopt;
    from = *start;
    to = *new_start;
  }
  return std::nullopt;
}

std::uint64_t SweepEdit::CountCommon() const {
  std::uint64_t common = 0;
  for (auto index = from_.NextIndex(0); index; index = from_.NextIndex(*index + 1))
    common += NewIndexAlone(*index) ? 1 : 0;
  return common;
}

std::optional<std::uint64_t> SweepEdit::NewIndexAlone(std::uint64_t old_index) const {
  if (old_index >= from_.size() || !from_.IsPoint(old_index)) return std::nullopt;
  const SweepGrid::Digits digits = from_.DigitsOf(old_index);
  const std::vector<bool> active = from_.rules_->Active(digits);
  SweepGrid::Digits new_digits(digits.size());
  for (std::size_t axis = 0; axis < digits.size(); ++axis) {
    if (!active[axis]) continue;  // Its digit is 0 in every grid.
    const std::uint32_t digit = digit_of_[axis][digits[axis]];
    if (digit == kGone) return std::nullopt;
    new_digits[static_cast<std::size_t>(axis_of_[axis])] = digit;
  }
  const std::vector<bool> new_active = to_.rules_->Active(new_digits);
  for (std::size_t axis = 0; axis < digits.size(); ++axis) {
    if (active[axis] != new_active[static_cast<std::size_t>(axis_of_[axis])]) return std::nullopt;
  }
  const std::optional<std::uint64_t> index = to_.IndexOf(new_digits);
  return index && to_.IsPoint(*index) ? index : std::nullopt;
}

}  // namespace inlier
