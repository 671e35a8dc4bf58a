// Progress through the batches of one phase of an evaluation, with the current rate.
#ifndef INLIER_CORE_TRAIN_PHASE_PROGRESS_H_
#define INLIER_CORE_TRAIN_PHASE_PROGRESS_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "base/time.h"
#include "core/train/trial_sink.h"

namespace inlier {

class PhaseProgress {
 public:
  PhaseProgress(const char* phase, std::int64_t batches, TrialSink& sink)
      : sink_(sink), start_(MonotonicNow()) {
    progress_.set_phase(phase);
    progress_.set_steps_total(static_cast<std::uint64_t>(batches));
  }
  void Done(std::int64_t batches, std::optional<double> loss) {
    progress_.set_step(static_cast<std::uint64_t>(batches));
    progress_.set_rate(static_cast<double>(batches) / std::max(ToSeconds(MonotonicNow() - start_), 1e-9));
    if (loss) progress_.set_loss(*loss);
    sink_.OnProgress(progress_);
  }

 private:
  TrialSink& sink_;
  const Timestamp start_;
  v1::Progress progress_;
};

inline absl::Status CheckStop(const std::function<bool()>& stop_requested) {
  if (stop_requested && stop_requested()) return absl::CancelledError("stopped on request during evaluation");
  return absl::OkStatus();
}

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_PHASE_PROGRESS_H_
