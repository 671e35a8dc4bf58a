// Evaluations of one process, one after the other. Those of one checkpoint and its data share what they read: a
// further setting of the quantization costs its own passes alone. Results are those of a process for each.
#ifndef INLIER_CORE_TRIAL_EVALUATION_SESSION_H_
#define INLIER_CORE_TRIAL_EVALUATION_SESSION_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "core/trial/event_writer.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

class EvaluationSession {
 public:
  EvaluationSession();
  ~EvaluationSession();
  EvaluationSession(const EvaluationSession&) = delete;
  EvaluationSession& operator=(const EvaluationSession&) = delete;

  // Reports the measurements. After an error nothing is kept. Errors: as Prepare's; DataLoss for a checkpoint that
  // cannot be read; InvalidArgument where it does not fit; Cancelled when `stop_requested`.
  absl::StatusOr<v1::Outcome> Run(const v1::AttemptSpec& attempt, EventWriter& events,
                                  const std::function<bool()>& stop_requested);

 private:
  struct Loaded;
  absl::StatusOr<std::unique_ptr<Loaded>> Load(const v1::AttemptSpec& attempt, EventWriter& events);

  std::unique_ptr<Loaded> loaded_;  // By the last evaluation.
};

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EVALUATION_SESSION_H_
