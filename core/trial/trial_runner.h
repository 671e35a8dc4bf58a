// Runs one attempt: from an AttemptSpec to an Outcome, reporting on the way.
//
// TRAIN: data, model, training, final checkpoint `model.safetensors` in the output folder. EVALUATE: data,
// the checkpoint's weights, measurements.
//
// Thread safety: none; one training a process, or several evaluations (evaluation_session.h).
#ifndef INLIER_CORE_TRIAL_TRIAL_RUNNER_H_
#define INLIER_CORE_TRIAL_TRIAL_RUNNER_H_

#include "core/trial/evaluation_session.h"
#include "core/trial/event_writer.h"
#include "core/trial/stop_request.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Runs the attempt and never throws. `stop` may be asked at any time: a training then ends after the current
// micro-batch, with a checkpoint of the last update. On return the outcome has been written to `events`.
// REQUIRES: SetUpRuntime has been called.
v1::Outcome RunAttempt(const v1::AttemptSpec& attempt, EventWriter& events, StopRequest& stop,
                       EvaluationSession& session);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_TRIAL_RUNNER_H_
