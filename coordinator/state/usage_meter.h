// Time that running attempts take: a sum that is exact up to a time and grows from there at a known rate, so
// that nothing is walked to read it and a limit on it has one deadline.
#ifndef INLIER_COORDINATOR_STATE_USAGE_METER_H_
#define INLIER_COORDINATOR_STATE_USAGE_METER_H_

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace inlier {

// The longest time that counts as one: 114 years, which a Timestamp can still add.
inline constexpr double kHoursMax = 1e6;

inline Duration FromHours(double hours) { return FromSeconds(std::min(hours, kHoursMax) * 3600); }

class UsageMeter {
 public:
  // An attempt with this share of a GPU runs from now on, or no longer.
  void Start(Timestamp now, std::uint32_t gpu_thousandths) { Change(now, 1, gpu_thousandths); }
  void Stop(Timestamp now, std::uint32_t gpu_thousandths) {
    Change(now, -1, -static_cast<std::int64_t>(gpu_thousandths));
  }
  // Time of attempts that does not pass while the meter runs: before a restart, for example.
  void Add(double attempt_seconds, double gpu_seconds) {
    attempt_seconds_ += attempt_seconds;
    gpu_seconds_ += gpu_seconds;
  }

  double AttemptSeconds(Timestamp now) const {
    return attempt_seconds_ + static_cast<double>(attempts_) * ToSeconds(now - since_);
  }
  // Multiplied by the shares.
  double GpuSeconds(Timestamp now) const { return gpu_seconds_ + GpuRate() * ToSeconds(now - since_); }
  // When GpuSeconds is `limit` if nothing starts or stops; nullopt: never.
  std::optional<Timestamp> GpuSecondsReach(double limit) const {
    if (gpu_seconds_ >= limit) return since_;
    if (gpu_thousandths_ == 0) return std::nullopt;
    return since_ + FromHours((limit - gpu_seconds_) / GpuRate() / 3600);
  }

  std::int64_t attempts() const { return attempts_; }
  std::int64_t gpu_thousandths() const { return gpu_thousandths_; }

 private:
  double GpuRate() const { return static_cast<double>(gpu_thousandths_) / 1000; }
  void Change(Timestamp now, std::int64_t attempts, std::int64_t gpu_thousandths) {
    attempt_seconds_ = AttemptSeconds(now);
    gpu_seconds_ = GpuSeconds(now);
    since_ = now;
    attempts_ += attempts;
    gpu_thousandths_ += gpu_thousandths;
  }

  double attempt_seconds_ = 0;  // Up to since_.
  double gpu_seconds_ = 0;
  Timestamp since_;
  std::int64_t attempts_ = 0;         // That run.
  std::int64_t gpu_thousandths_ = 0;  // Their shares.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_USAGE_METER_H_
