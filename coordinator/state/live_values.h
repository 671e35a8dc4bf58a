// Numbers of attempts that run: of an attempt the latest point of each curve, of a sweep the best and
// the latest number of a few measurements. They are kept in memory and not stored; a sweep's results of before a start are
// in the database (coordinator/metrics/sweep_results.h).
#ifndef INLIER_COORDINATOR_STATE_LIVE_VALUES_H_
#define INLIER_COORDINATOR_STATE_LIVE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/trial/measurements.h"

namespace inlier {

struct LatestPoint {
  const MeasurementInfo* info = nullptr;  // Of the attempt's list.
  std::uint64_t step = 0;
  double value = 0;
};

// One for each measurement at most, in the order of their table.
class LatestPoints {
 public:
  void Take(const MeasurementInfo& info, std::uint64_t step, double value);
  const std::vector<LatestPoint>& all() const { return points_; }

 private:
  std::vector<LatestPoint> points_;
};

struct SweepValue {
  std::string name;
  Better better = Better::kNone;
  std::string setting;  // Of the model that was measured: "FLOAT", "W8A8", "W4".
  double best = 0;      // NaN until there is a number.
  std::optional<double> latest;
};

// "W8A8", "W4", "FLOAT": bits of weights and of activations; 0: they are not quantized.
std::string SettingText(std::uint32_t weight_bits, std::uint32_t activation_bits);

// The better one of two numbers of a measurement, the lower one where neither is; NaN is worse than every number.
double BetterOf(Better better, double a, double b);

class SweepValues {
 public:
  // Settings beyond them are left out.
  static constexpr std::size_t kSettingsMax = 16;

  // Loss, perplexity, accuracy, infinity norm, kurtosis.
  static bool Has(const MeasurementInfo& info);

  void Take(const MeasurementInfo& info, const std::string& setting, double value);
  const std::vector<SweepValue>& all() const { return values_; }

 private:
  std::vector<SweepValue> values_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_LIVE_VALUES_H_
