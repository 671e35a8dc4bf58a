// An attempt of a program of one's own: its process between two ends of the protocol (docs/reference/protocol.md).
//
// Thread safety: none; one at a time, in a process of one thread (ProgramProcess::Block).
#ifndef INLIER_WORKER_PROGRAMS_PROGRAM_ATTEMPT_H_
#define INLIER_WORKER_PROGRAMS_PROGRAM_ATTEMPT_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/program.pb.h"
#include "worker/processes/event_reader.h"
#include "worker/programs/program_process.h"

namespace inlier {

// The digest of the source in spec.program_root, as `source`, and of the data that the trial names, if it does:
// Started.dataset_digest. `spec_file` has the attempt. Unavailable where inlier-trial cannot read the data.
absl::StatusOr<std::string> DigestWithData(const v1::AttemptSpec& spec, const std::string& source,
                                           const std::string& spec_file);

class ProgramAttempt {
 public:
  using OnEvent = std::function<void(v1::TrialEvent)>;

  // `spec` has program_root. `user`: the program runs as this one; empty: as this process.
  ProgramAttempt(v1::AttemptSpec spec, std::string user, OnEvent on_event)
      : spec_(std::move(spec)), user_(std::move(user)), on_event_(std::move(on_event)) {}

  // Runs it to its end. All events but the outcome go to `on_event`.
  v1::Outcome Run();
  // Its first part, which runs nothing. The outcome where the attempt has ended with it.
  std::optional<v1::Outcome> Begin();
  // Asks the program to stop, as a worker does.
  void Stop(Duration grace) { process_.Stop(grace); }
  bool ignored_stop() const { return process_.ignored_stop(); }

 private:
  bool IsTraining() const { return spec_.kind() == v1::TRAIN_STAGE; }
  std::filesystem::path output() const { return std::filesystem::path(spec_.output_dir()) / "output"; }
  // Of trial.json and of unpacked checkpoints.
  std::filesystem::path OwnFolder() const;
  void Log(const std::string& text);  // "inlier: …" is what the program does wrong.

  // Reads the program, and reports what runs.
  absl::Status Open();
  // InvalidArgument: a value that the description here does not allow. The coordinator knows the submitter's copy of it alone.
  absl::Status CheckParameters() const;
  // Unpacks checkpoints, writes trial.json, finds the environment.
  absl::Status Prepare();
  v1::Outcome RunToEnd();
  // The reported outcome, with the product of a training.
  v1::Outcome Finished();

  void TakeLine(const LineSplitter::Line& line);
  // At most a few a second, and the last one.
  bool IsDue(const v1::Progress& progress);
  void TakeGarbage(std::string_view text, const absl::Status& status);
  // The attempt cannot succeed any more.
  void Break(v1::FailureClass failure, const std::string& message);
  // A path that the program reported, as one below output().
  absl::StatusOr<std::filesystem::path> InOutput(const std::string& path) const;
  absl::Status TakeCheckpoint(const v1::CheckpointSaved& saved);
  // Packs what is at `path` below output() (empty: nothing) and reports it.
  absl::Status Keep(const std::filesystem::path& path, std::uint64_t step, bool final);
  absl::Status KeepFile(const std::string& name);

  const v1::AttemptSpec spec_;
  const std::string user_;
  const OnEvent on_event_;
  std::filesystem::path root_;
  v1::ProgramDescription description_;
  std::string digest_;
  ProgramCommand command_;
  ProgramProcess process_;
  std::optional<v1::Outcome> outcome_;  // As the program reported it.
  std::optional<v1::Outcome> broken_;   // In its place.
  bool has_final_ = false;
  std::vector<std::filesystem::path> tars_;  // Of checkpoints to resume from, the newest last.
  std::optional<Timestamp> last_progress_;
  std::uint64_t garbage_ = 0;
  std::string first_garbage_;
};

// What an evaluation by a program without a command for it reports, its outcome last; without an outcome, a process must
// run the attempt. For any thread.
std::vector<v1::TrialEvent> EvaluateNothingOf(const v1::AttemptSpec& spec);

}  // namespace inlier

#endif  // INLIER_WORKER_PROGRAMS_PROGRAM_ATTEMPT_H_
