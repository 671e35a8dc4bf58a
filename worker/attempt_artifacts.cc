// Supervisor: checkpoints from and to other machines.
#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "spec/trial/outcome.h"
#include "worker/attempt_folder.h"
#include "worker/disk_work.h"
#include "worker/programs/program_attempt.h"
#include "worker/supervisor.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr auto kPollInterval = std::chrono::milliseconds(100);
constexpr std::size_t kTroubleBytesMax = 500;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// True when the same transfer may succeed later, or on another worker: rights, a clock or a region can be corrected.
bool IsInterrupted(const absl::Status& status) {
  return IsRetriable(status) || absl::IsCancelled(status) || absl::IsPermissionDenied(status) ||
         absl::IsUnauthenticated(status) || absl::IsFailedPrecondition(status);
}

v1::Outcome TransferFailed(const absl::Status& status, const std::string& what) {
  return FailedOutcome(IsInterrupted(status) ? v1::LOST : v1::CRASHED,
                       absl::StrCat(what, ": ", Message(status)));
}

v1::Outcome ModelNotFetched(const absl::Status& status, ArtifactMode mode) {
  v1::Outcome outcome =
      TransferFailed(status, absl::StrCat("the trained model could not be fetched from ", StoreText(mode)));
  if (!absl::IsDataLoss(status) && !absl::IsNotFound(status)) return outcome;
  // Other workers are asked for their copy meanwhile.
  outcome.set_failure(v1::LOST);
  outcome.set_model_is_lost(true);
  return outcome;
}

asio::awaitable<absl::Status> CheckFile(WorkerParts& parts, fs::path path, std::string sha256) {
  const std::function<absl::Status()> check = [&parts, path, sha256] {
    return parts.artifacts.files().Check(path, sha256);
  };
  co_return co_await OnDisk(parts.disk, check);
}

}  // namespace

asio::awaitable<void> Supervisor::Pause(asio::steady_timer& timer, Duration longest) {
  timer.expires_after(longest);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Supervisor::Wake() {
  wait_timer_.cancel();
  send_timer_.cancel();
}

asio::awaitable<bool> Supervisor::WaitForAny(std::vector<fs::path> paths) {
  const Timestamp deadline = MonotonicNow() + settings_.artifact_wait;
  for (;;) {
    for (const fs::path& path : paths) {
      std::error_code error;
      if (fs::is_regular_file(path, error)) co_return true;
    }
    if (stopping() || MonotonicNow() >= deadline) co_return false;
    co_await Pause(wait_timer_, std::min<Duration>(kPollInterval, settings_.artifact_wait));
  }
}

asio::awaitable<ArtifactProgress> Supervisor::FetchArtifact(std::string sha256) {
  transfers_.fetched = parts_.artifacts.Fetch(sha256);
  for (;;) {
    const ArtifactProgress seen = ProgressOf(transfers_.fetched);
    // While the coordinator is away no other worker could fetch it either.
    const bool away = !parts_.connected();
    const bool again = seen.done && IsInterrupted(seen.status) && (away || transfers_.fetch_again);
    transfers_.fetch_again = again && away;
    if (seen.done && !again) co_return seen;
    if (stopping()) {
      transfers_.fetched.reset();
      co_return ArtifactProgress{.done = true, .status = absl::CancelledError("the attempt was stopped")};
    }
    if (again && !away) transfers_.fetched = parts_.artifacts.Fetch(sha256);
    ShowTransfer("fetching", seen);
    co_await Pause(wait_timer_, kPollInterval);
  }
}

void Supervisor::ShowTransfer(const char* phase, const ArtifactProgress& seen) {
  v1::Progress progress;
  // A transfer that is tried again and again is not stalled: the coordinator's disk may be full, for example.
  progress.set_phase(seen.failures == 0 ? std::string(phase)
                                        : absl::StrCat(phase, ", try ", seen.failures + 1));
  progress.set_step(seen.bytes);
  progress.set_steps_total(seen.bytes_total);
  if (!seen.trouble.empty()) progress.set_trouble(seen.trouble.substr(0, kTroubleBytesMax));
  parts_.board.SetProgress(token(), progress);
  parts_.request_sync(CoordinatorClient::Urgency::kProgress);
}

asio::awaitable<std::optional<v1::Outcome>> Supervisor::PrepareCheckpoint() {
  if (std::optional<v1::Outcome> ended = co_await EvaluateNothing(); ended) co_return ended;
  while (parts_.artifacts.mode() == ArtifactMode::kUnknown && !stopping()) {
    if (const ArtifactProgress seen = parts_.artifacts.finding(); seen.failures > 0)
      ShowTransfer("finding the store of checkpoints", seen);
    co_await Pause(wait_timer_, kPollInterval);
  }
  if (stopping()) co_return std::nullopt;
  const bool streamed = parts_.artifacts.MovesFiles();
  if (streamed) parts_.artifacts.SetLive(folder_, true);
  if (assignment_.has_resume_path()) {
    std::optional<v1::Outcome> outcome = co_await PrepareResume(streamed);
    if (outcome || stopping()) co_return outcome;
  }
  // A training that resumes has started from its model already.
  const bool needs_model = assignment_.kind() == v1::EVALUATE_STAGE || assignment_.has_checkpoint_sha256();
  if (needs_model && !spec_.has_resume_from()) co_return co_await PrepareModel(streamed);
  co_return std::nullopt;
}

asio::awaitable<std::optional<v1::Outcome>> Supervisor::EvaluateNothing() {
  std::vector<v1::TrialEvent> events;
  const std::function<absl::Status()> evaluate = [&] {
    events = EvaluateNothingOf(spec_);
    return absl::OkStatus();
  };
  co_await OnDisk(parts_.disk, evaluate);
  Route(std::move(events));
  co_return reported_.outcome;
}

asio::awaitable<std::optional<v1::Outcome>> Supervisor::PrepareModel(bool streamed) {
  const absl::StatusOr<fs::path> artifact =
      ArtifactPath(settings_.state_dir, assignment_.checkpoint_sha256());
  if (!artifact.ok()) co_return FailedToPrepare(artifact.status());
  if (streamed) {
    const ArtifactProgress fetched = co_await FetchArtifact(assignment_.checkpoint_sha256());
    if (stopping()) co_return std::nullopt;
    if (!fetched.status.ok()) co_return ModelNotFetched(fetched.status, parts_.artifacts.mode());
  } else {
    std::vector<fs::path> places = {*artifact};
    const bool found = co_await WaitForAny(std::move(places));
    if (!found && !stopping()) {
      co_return FailedToPrepare(absl::NotFoundError(
          absl::StrCat("the trained model ", artifact->string(),
                       " is not there; all workers of one coordinator must share one state_dir, or be set to "
                       "`artifacts: STREAMED`")));
    }
    const absl::Status sound = co_await CheckFile(parts_, *artifact, assignment_.checkpoint_sha256());
    if (absl::IsDataLoss(sound) && !stopping()) {
      // Every other attempt would read the same file.
      co_return FailedToPrepare(
          absl::InvalidArgumentError(absl::StrCat("the trained model ", Message(sound),
                                                  "; copy the file back, for example from a backup, and "
                                                  "`inlier retry` the trial, or train the model again by "
                                                  "`inlier submit --again`")));
    }
    if (!sound.ok() && !stopping()) co_return FailedToPrepare(sound);
  }
  spec_.set_checkpoint(artifact->string());
  transfers_.read[*artifact] = assignment_.checkpoint_sha256();
  co_return std::nullopt;
}

asio::awaitable<absl::StatusOr<fs::path>> Supervisor::GetCheckpoint(fs::path path, std::string sha256,
                                                                    bool streamed, bool waits) {
  // Written by its own attempt, or fetched from the coordinator.
  std::vector<fs::path> places = {path};
  const bool named = IsSha256Hex(sha256);
  if (named) places.push_back(*ArtifactPath(settings_.state_dir, sha256));
  if (!streamed && waits) co_await WaitForAny(places);
  std::string why;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_regular_file(place, error)) continue;
    absl::Status sound;
    if (named) sound = co_await CheckFile(parts_, place, sha256);
    if (sound.ok()) {
      parts_.artifacts.files().MarkUsed(place);
      co_return place;
    }
    why = absl::StrCat(": ", Message(sound));
  }
  if (why.empty()) why = absl::StrCat(", ", path.string(), ", is not there");
  if (streamed && named && !stopping()) {
    const ArtifactProgress fetched = co_await FetchArtifact(sha256);
    if (fetched.status.ok()) co_return places.back();
    co_return absl::Status(fetched.status.code(),
                           absl::StrCat(why, "; it could not be fetched from ",
                                        StoreText(parts_.artifacts.mode()), ": ", Message(fetched.status)));
  }
  co_return absl::NotFoundError(why);
}

asio::awaitable<absl::Status> Supervisor::CheckFilesRead() {
  for (const auto& [path, sha256] : transfers_.read) {
    const absl::Status sound = co_await CheckFile(parts_, path, sha256);
    if (absl::IsDataLoss(sound)) co_return sound;
  }
  co_return absl::OkStatus();
}

asio::awaitable<std::optional<v1::Outcome>> Supervisor::PrepareResume(bool streamed) {
  std::vector<v1::EarlierCheckpoint> points(1);
  points[0].set_path(assignment_.resume_path());
  points[0].set_sha256(assignment_.resume_sha256());
  points.insert(points.end(), assignment_.earlier().begin(), assignment_.earlier().end());
  for (const v1::EarlierCheckpoint& point : points) {
    const absl::StatusOr<fs::path> path = PathBelow(settings_.state_dir, point.path());
    if (!path.ok()) co_return FailedToPrepare(path.status());
    const absl::StatusOr<fs::path> found =
        co_await GetCheckpoint(*path, point.sha256(), streamed, /*waits=*/transfers_.resume_trouble.empty());
    if (stopping()) co_return std::nullopt;
    if (found.ok()) {
      spec_.set_resume_from(found->string());
      if (spec_.has_program_root()) spec_.set_resume_step(StepOfCheckpoint(point.path()));
      if (IsSha256Hex(point.sha256())) transfers_.read[*found] = point.sha256();
      if (!transfers_.resume_trouble.empty())
        absl::StrAppend(&transfers_.resume_trouble, "; training resumes from ", found->string());
      break;
    }
    // To train from an earlier one takes longer than to try again.
    if (IsInterrupted(found.status()))
      co_return TransferFailed(found.status(), absl::StrCat("the checkpoint to resume from, ", point.path()));
    absl::StrAppend(&transfers_.resume_trouble, transfers_.resume_trouble.empty() ? "" : "; ",
                    "the checkpoint to resume from", Message(found.status()));
  }
  if (!spec_.has_resume_from())
    absl::StrAppend(&transfers_.resume_trouble, "; training starts from the beginning");
  if (!transfers_.resume_trouble.empty()) Warn(transfers_.resume_trouble);
  co_return std::nullopt;
}

void Supervisor::SendCheckpoint(v1::TrialEvent event) {
  transfers_.next_checkpoint = std::move(event);  // Replaces one that was not started.
  if (std::exchange(transfers_.sending, true)) return;
  StartWork(parts_.io, SendCheckpoints());
}

asio::awaitable<void> Supervisor::SendCheckpoints() {
  while (transfers_.next_checkpoint && !transfers_.upload_closed) {
    v1::TrialEvent event = *std::exchange(transfers_.next_checkpoint, std::nullopt);
    const v1::CheckpointSaved& saved = event.checkpoint();
    const absl::StatusOr<fs::path> path = PathBelow(folder_, saved.path());
    absl::Status status = path.status();
    if (path.ok() && IsSha256Hex(saved.sha256())) {
      const ArtifactHandle sent = parts_.artifacts.Send(*path, saved.sha256());
      ArtifactProgress seen = ProgressOf(sent);
      while (!seen.done && !transfers_.upload_closed) {
        co_await Pause(send_timer_, kPollInterval);
        seen = ProgressOf(sent);
      }
      status = seen.done ? seen.status : absl::CancelledError("");
    }
    if (transfers_.upload_closed) break;
    if (status.ok()) {
      Report({std::move(event)});
    } else {
      Warn(absl::StrCat("the checkpoint at step ", saved.step(), " could not be sent to ",
                        StoreText(parts_.artifacts.mode()),
                        ", so no attempt resumes from it: ", Message(status)));
    }
  }
  transfers_.next_checkpoint.reset();
  transfers_.sending = false;
  wait_timer_.cancel();
}

asio::awaitable<void> Supervisor::EndSending(bool wanted) {
  if (!wanted) transfers_.upload_closed = true;
  send_timer_.cancel();
  while (transfers_.sending) {
    if (stop_.not_desired || stop_.kind == StopKind::kLeaseLost) {
      transfers_.upload_closed = true;
      send_timer_.cancel();
    }
    co_await Pause(wait_timer_, kPollInterval);
  }
}

asio::awaitable<absl::Status> Supervisor::SendModel() {
  const absl::StatusOr<fs::path> model =
      ArtifactPath(settings_.state_dir, reported_.final_checkpoint->sha256());
  if (!model.ok()) co_return model.status();
  transfers_.sending_model = true;
  const ArtifactHandle sent = parts_.artifacts.Send(*model, reported_.final_checkpoint->sha256());
  for (;;) {
    const ArtifactProgress seen = ProgressOf(sent);
    if (seen.done) co_return seen.status;
    if (stop_.not_desired)
      co_return absl::CancelledError("the coordinator does not want the attempt any more");
    ShowTransfer("uploading", seen);
    co_await Pause(wait_timer_, kPollInterval);
  }
}

void Supervisor::Abandon() {
  stop_.not_desired = true;
  Wake();
}

}  // namespace inlier
