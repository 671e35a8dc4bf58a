// SweepGrid: the points of a sweep with sampling.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/values/sobol.h"

namespace inlier {
namespace {

// Samples times conditions and exclusions; takes half a second.
constexpr std::uint64_t kSampledRulesMax = 100'000'000;

// A file's numbers in another spelling than FormatNumber's are texts: "1e-3".
std::optional<double> NumberIn(const google::protobuf::Value& value) {
  if (value.kind_case() == google::protobuf::Value::kStringValue) return ParseNumber(value.string_value());
  if (value.kind_case() != google::protobuf::Value::kNumberValue) return std::nullopt;
  return value.number_value();
}

// The label `text`, which is mostly as it is written.
std::optional<std::uint32_t> DigitOf(const std::vector<std::string>& labels, const std::string& text) {
  const auto at = std::ranges::find(labels, text);
  if (at != labels.end()) return static_cast<std::uint32_t>(at - labels.begin());
  return LabelFinder(labels).Find(text);
}

}  // namespace

void SweepGrid::CompileSampling(const v1::SamplingSpec& spec, Problems* problems) {
  static_assert(kAxesMax <= kSobolDimensions);  // There are always enough dimensions.
  if (spec.kind_case() == v1::SamplingSpec::KIND_NOT_SET)
    return problems->Add("sampling", "nothing is chosen: give one of random, sobol or optuna");
  const std::string path = spec.has_sobol()    ? "sampling.sobol.trials"
                           : spec.has_optuna() ? "sampling.optuna.trials"
                                               : "sampling.random.trials";
  sampled_->plan = SamplePlan(spec);
  const std::uint32_t trials = sampled_->plan.trials();
  if (trials == 0)
    return problems->Add(path,
                         "0 samples are none; give a whole number from 1 to " + std::to_string(kSampledMax));
  int dimensions = 0;
  for (const AxisInfo& axis : axes_) sampled_->dimension.push_back(axis.each ? -1 : dimensions++);
  if (dimensions == 0)
    return problems->Add("sampling",
                         "there is nothing to draw: give an axis with values, variants or a range without "
                         "each: true, or leave out sampling");
  unsigned __int128 each = 1;
  sampled_->suffix.resize(axes_.size(), 1);
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    if (!axes_[axis].each) continue;
    sampled_->suffix[axis] = static_cast<std::uint64_t>(each);
    each = std::min<unsigned __int128>(each * length(axis), kSizeMax);
  }
  if (each * trials > kSampledMax)
    return problems->Add(
        path, std::to_string(trials) + " samples with " + std::to_string(static_cast<std::uint64_t>(each)) +
                  (each == 1 ? " point" : " points") + " each are more than " + std::to_string(kSampledMax) +
                  "; give fewer, or split the sweep by the seed of the sampling");
  sampled_->each_size = static_cast<std::uint64_t>(each);
  size_ = trials * sampled_->each_size;
}

SweepGrid::Sample SweepGrid::Draw(std::uint64_t index) const {
  const auto number = static_cast<std::uint32_t>(index / sampled_->each_size);
  Sample sample;
  if (is_search()) sample = sampled_->asked[number];
  sample.digits.resize(points_.size());
  sample.values.resize(points_.size());
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    const int dimension = sampled_->dimension[axis];
    if (dimension < 0) {
      sample.digits[axis] = static_cast<std::uint32_t>(index / sampled_->suffix[axis] % length(axis));
      continue;
    }
    if (is_search()) continue;
    const UnitNumber draw = sampled_->plan.Draw(number, dimension);
    if (sampled_->drawn[axis]) {
      sample.values[axis] = sampled_->drawn[axis]->value(draw);
    } else {
      sample.digits[axis] = sampled_->weights[axis].At(draw, length(axis));
    }
  }
  return sample;
}

bool SweepGrid::IsSampledPoint(Sample& sample) const {
  if (!rules_->Contains(sample.digits, &sample.active, /*any_inactive_digit=*/true)) return false;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    const bool each = sampled_->dimension[axis] < 0;
    if (each && !sample.active[axis] && sample.digits[axis] != 0) return false;
  }
  return true;
}

std::string SweepGrid::KeyOf(const Sample& sample) const {
  std::string key;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    key += sample.active[axis] ? '1' : '0';
    if (!sample.active[axis]) continue;
    char bytes[sizeof(double)] = {};
    if (sampled_->drawn[axis]) {
      std::memcpy(bytes, &sample.values[axis], sizeof(double));
    } else {
      std::memcpy(bytes, &sample.digits[axis], sizeof(std::uint32_t));
    }
    key.append(bytes, sizeof(bytes));
  }
  return key;
}

void SweepGrid::FindSampledPoints(Problems* problems) {
  if (rules_->size() * size_ > kSampledRulesMax)
    return problems->Add("sampling",
                         std::to_string(size_) + " points are more than " +
                             std::to_string(kSampledRulesMax / rules_->size()) + ", which " +
                             std::to_string(rules_->size()) +
                             " conditions and exclusions allow; draw fewer samples, or name several labels "
                             "in one exclusion");
  kept_ = size_;
  if (is_search()) return;
  for (std::uint64_t index = 0; index < size_; ++index) AddSampled(index);
  if (!starts_from_points_) sampled_->first.clear();
}

void SweepGrid::AddSampled(std::uint64_t index) {
  Sample sample = Draw(index);
  const bool is_point = IsSampledPoint(sample) && sampled_->first.emplace(KeyOf(sample), index).second;
  sampled_->is_point.push_back(is_point);
  if (!is_point) --kept_;
}

const v1::AxisRange* SweepGrid::SearchedRange(std::size_t axis) const {
  return sampled_->drawn[axis] ? &sampled_->drawn[axis]->range : nullptr;
}

std::optional<GridSample> SweepGrid::SampleOf(const google::protobuf::Struct& values, bool part,
                                              const std::string& path, Problems* problems) const {
  const std::size_t before = problems->count();
  Sample sample;
  sample.digits.resize(points_.size());
  sample.values.resize(points_.size());
  std::vector<std::string> searched;
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    if (!IsDrawn(axis)) continue;
    const std::string& name = searched.emplace_back(axes_[axis].name);
    const auto at = values.fields().find(name);
    if (at == values.fields().end()) continue;
    const std::string place = path + "." + name;
    if (const v1::AxisRange* range = SearchedRange(axis)) {
      const std::optional<double> number = NumberIn(at->second);
      sample.values[axis] = number.value_or(0) + 0.0;  // -0 is 0.
      const std::string problem =
          number ? NumberProblem(*range, *number) : "is not a number; give one of the range";
      if (!problem.empty()) problems->Add(place, problem);
    } else if (const auto digit = DigitOf(axes_[axis].labels, ValueText(at->second))) {
      sample.digits[axis] = *digit;
    } else {
      problems->Add(place, Quoted(ValueText(at->second)) + " is not a label of the axis" +
                               DidYouMean(ValueText(at->second), axes_[axis].labels));
    }
  }
  for (const auto& [name, value] : values.fields()) {
    if (std::ranges::find(searched, name) == searched.end())
      problems->Add(path + "." + name, "is not an axis that is searched" + DidYouMean(name, searched));
  }
  if (problems->count() != before) return std::nullopt;
  sample.active = rules_->Active(sample.digits);
  for (std::size_t axis = 0; axis < points_.size() && !part; ++axis) {
    const bool given = values.fields().contains(axes_[axis].name);
    if (!IsDrawn(axis) || given == sample.active[axis]) continue;
    problems->Add(path + "." + axes_[axis].name,
                  given ? "does not apply at this point (when); leave it out" : "is missing; give a value");
  }
  return problems->count() == before ? std::optional(std::move(sample)) : std::nullopt;
}

absl::Status SweepGrid::Append(const SearchPoints& points) {
  const std::uint32_t trials = sampled_->plan.trials();
  const std::size_t asked = sampled_->asked.size() + static_cast<std::size_t>(points.size());
  if (asked > trials)
    return absl::FailedPreconditionError(absl::StrCat("sampling.optuna.trials: the sweep has ", trials,
                                                      " points at most, and would have ", asked,
                                                      "; raise it with an edit"));
  Problems problems;
  std::vector<Sample> samples;
  for (int i = 0; i < points.size(); ++i) {
    std::optional<Sample> sample =
        SampleOf(points[i].values(), /*part=*/false, ItemPath("points", i) + ".values", &problems);
    if (sample) samples.push_back(*std::move(sample));
  }
  RETURN_IF_ERROR(problems.ToStatus());
  for (Sample& sample : samples) {
    sampled_->asked.push_back(std::move(sample));
    for (std::uint64_t i = 0; i < sampled_->each_size; ++i) AddSampled(sampled_->is_point.size());
  }
  return absl::OkStatus();
}

void SweepGrid::AppendExample() {
  if (!is_search() || !sampled_->asked.empty()) return;
  std::uint64_t budget = kSampledRulesMax;
  const std::optional<Digits> digits = rules_->First({}, &budget);
  if (!digits) return;
  Sample sample{.digits = *digits, .values = std::vector<double>(points_.size()), .active = {}};
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    if (sampled_->drawn[axis])
      sample.values[axis] = sampled_->drawn[axis]->value({1ull << (UnitNumber::kBits - 1)});
  }
  sampled_->asked.push_back(std::move(sample));
  for (std::uint64_t i = 0; i < sampled_->each_size; ++i) AddSampled(i);
}

PointLabels SweepGrid::PointOf(const Sample& sample, v1::TrialSpec* spec) const {
  // Ranges come from PointOf(digits) with one end of theirs, and are then set.
  PointLabels labels = PointOf(sample.digits, sample.active, spec);
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    if (!sampled_->drawn[axis] || !sample.active[axis]) continue;
    google::protobuf::Value value;
    value.set_number_value(sample.values[axis]);
    const std::unique_ptr<google::protobuf::Message> point = form_->New();
    INLIER_CHECK(sampled_->drawn[axis]->field.SetValue(value, point.get()).ok());
    form_->Write(*point, spec);
    labels[axis].second = FormatNumber(sample.values[axis]);
  }
  return labels;
}

}  // namespace inlier
