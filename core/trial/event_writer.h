// Writes a trial's events as JSON lines to a descriptor, for the worker.
//
// One line is one TrialEvent as proto JSON with the field names of the .proto file, written by one call of
// write(2). NaN and infinities are the strings "NaN", "Infinity", "-Infinity". Progress is thinned to four
// lines a second; the first and the last of a phase always pass. Some progress is a line of the log too (progress_log.h).
//
// Thread safety: OnOutcome may be called from any thread; all else from one.
#ifndef INLIER_CORE_TRIAL_EVENT_WRITER_H_
#define INLIER_CORE_TRIAL_EVENT_WRITER_H_

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "core/train/trial_sink.h"
#include "core/trial/progress_log.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

class EventWriter : public TrialSink {
 public:
  // The caller owns `descriptor`.
  explicit EventWriter(int descriptor) : descriptor_(descriptor) {}

  // Before a further attempt of this process.
  void Begin();
  // From now on only the outcome is written: rank 0 of a gang reports the rest.
  void WriteOutcomeAlone() { outcome_alone_ = true; }

  // The descriptor of the worker's pipe; in a user's shell it is closed.
  static constexpr int kWorkerDescriptor = 3;
  static bool IsWritable(int descriptor);

  void OnProgress(const v1::Progress& progress) override;
  void OnMeasurement(const v1::MeasurementPoint& point) override;
  void OnCheckpoint(const v1::CheckpointSaved& checkpoint) override;
  void OnStarted(const v1::Started& started);
  // The last event: later ones are dropped. False, and nothing is written, after another outcome.
  bool OnOutcome(const v1::Outcome& outcome);
  void Log(const std::string& text);

  // True when the reader is gone: the work is useless and should end.
  bool broken() const { return broken_; }

 private:
  void Write(v1::TrialEvent event);
  void WriteLine(v1::TrialEvent event);  // Under mutex_.

  const int descriptor_;
  std::atomic<bool> broken_ = false;
  bool outcome_alone_ = false;
  std::mutex mutex_;
  bool ended_ = false;  // Under mutex_.
  std::string phase_;
  std::optional<Timestamp> last_progress_;
  ProgressLog log_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_EVENT_WRITER_H_
