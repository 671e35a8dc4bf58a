// Receives the reports of training and evaluation: the trial program writes JSON lines, tests collect. A report that a
// subclass does not override is dropped.
//
// Thread safety: called from the one thread that runs the stage.
#ifndef INLIER_CORE_TRAIN_TRIAL_SINK_H_
#define INLIER_CORE_TRAIN_TRIAL_SINK_H_

#include "inlier/v1/attempt.pb.h"

namespace inlier {

class TrialSink {
 public:
  virtual ~TrialSink() = default;

  // May be called after every step; the sink decides how much it forwards.
  virtual void OnProgress(const v1::Progress& progress) {}
  virtual void OnMeasurement(const v1::MeasurementPoint& point) {}
  virtual void OnCheckpoint(const v1::CheckpointSaved& checkpoint) {}
};

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_TRIAL_SINK_H_
