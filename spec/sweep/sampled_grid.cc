// SweepGrid: the points of a sweep with sampling.
#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "spec/schema/number_text.h"
#include "spec/sweep/sobol.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {
namespace {

// Samples times conditions and exclusions; takes half a second.
constexpr std::uint64_t kSampledRulesMax = 100'000'000;

}  // namespace

void SweepGrid::CompileSampling(const v1::SamplingSpec& spec, Problems* problems) {
  static_assert(kAxesMax <= kSobolDimensions);  // There are always enough dimensions.
  if (spec.kind_case() == v1::SamplingSpec::KIND_NOT_SET)
    return problems->Add("sampling", "nothing is chosen: give one of random or sobol");
  const std::string path = spec.has_sobol() ? "sampling.sobol.trials" : "sampling.random.trials";
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
  sample.digits.resize(points_.size());
  sample.values.resize(points_.size());
  for (std::size_t axis = 0; axis < points_.size(); ++axis) {
    const int dimension = sampled_->dimension[axis];
    if (dimension < 0) {
      sample.digits[axis] = static_cast<std::uint32_t>(index / sampled_->suffix[axis] % length(axis));
      continue;
    }
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
  std::unordered_set<std::string> seen;
  sampled_->is_point.assign(size_, false);
  std::uint64_t count = 0;
  for (std::uint64_t index = 0; index < size_; ++index) {
    Sample sample = Draw(index);
    if (!IsSampledPoint(sample)) continue;
    std::string key = KeyOf(sample);
    if (!seen.insert(key).second) continue;
    if (starts_from_points_) sampled_->first.emplace(std::move(key), index);
    sampled_->is_point[index] = true;
    ++count;
  }
  kept_ = count;
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
