// A trial in memory. Plain data; the rules are in attempts/ and sweeps/.
//
// A trial *needs* its stages until the trial has ended or the stage has SUCCEEDED, and until then also the trainings that
// its own starts from. A stage that no trial needs is
// never leased: it has a result, or it is FAILED or CANCELLED. Stages are shared: trials of several sweeps may
// need the same one.
#ifndef INLIER_COORDINATOR_STATE_TRIAL_H_
#define INLIER_COORDINATOR_STATE_TRIAL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/cord.h"
#include "base/digest.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/rows.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

struct Trial {
  explicit Trial(TrialId id) : id(id) {}

  TrialId id;
  std::uint64_t point = 0;
  SweepId sweep;
  StageId train;  // Both zero for a trial that is invalid.
  StageId evaluate;
  v1::TrialState state = v1::PENDING;
  TrialPruningState pruning = TrialPruningState::kNone;
  bool known =
      false;  // It had its result when it was made, of before or of another sweep: no attempt was made for it.
  bool withdrawn = false;  // By an edit of the sweep: its point is gone, and it is not in the sweep's counts.
  absl::Cord labels_json;  // As the store has them (LabelsJson); empty when the trial has a result.

  const std::string& message() const { return message_ != nullptr ? *message_ : kNoMessage; }
  void SetMessage(const std::string& message) {
    message_ = message.empty() ? nullptr : std::make_unique<std::string>(message);
  }

 private:
  static inline const std::string kNoMessage;

  std::unique_ptr<std::string> message_;
};

// The result of a training that has SUCCEEDED.
struct Trained {
  Digest checkpoint{};       // Of the trained model.
  std::uint32_t holder = 0;  // Number of the worker that wrote it; 0: not known.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_TRIAL_H_
