#include "worker/supervisor.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"
#include "spec/trial/outcome.h"
#include "worker/attempt_folder.h"
#include "worker/disk_work.h"
#include "worker/programs/program_process.h"
#include "worker/programs/program_roots.h"
#include "worker/slots/trial_command.h"
#include "worker/start_trouble.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// Lines of output that go to the coordinator for one attempt; the rest is in log.txt only.
constexpr std::uint64_t kLogLinesSentMax = 1000;

v1::TrialEvent LogEvent(std::string text) {
  v1::TrialEvent event;
  event.mutable_log()->set_text(std::move(text));
  event.set_time_unix_ms(WallNow().unix_ms);
  return event;
}

}  // namespace

v1::Outcome FailedToPrepare(const absl::Status& status) {
  return FailedOutcome(absl::IsInvalidArgument(status) ? v1::INVALID_SPEC : v1::CRASHED,
                       absl::StrCat("the worker could not start the trial: ", status.message()));
}

namespace {

// Of a machine that cannot start any trial now; a trial that it can never start is INVALID_SPEC.
v1::Outcome NotStarted(const absl::Status& status) {
  v1::Outcome outcome = FailedToPrepare(status);
  if (outcome.failure() == v1::INVALID_SPEC) return outcome;
  outcome.set_failure(v1::PREEMPTED);
  outcome.set_not_started(true);
  return outcome;
}

// Where the program itself cannot run, the failure of a child that reported nothing is not the trial's.
asio::awaitable<v1::Outcome> BlameOf(v1::Outcome outcome, ProcessExit exit, const AttemptSettings& settings,
                                     asio::thread_pool& disk) {
  if (CouldNotRun(exit)) co_return NotStarted(absl::UnavailableError(outcome.message()));
  const std::function<absl::Status()> run = [&settings] {
    return CheckTrialProgram(settings.trial_program, settings.trial_environment).status();
  };
  const absl::Status runs = co_await OnDisk(disk, run);
  co_return runs.ok() ? outcome : NotStarted(runs);
}

}  // namespace

Supervisor::Supervisor(const AttemptSettings& settings, WorkerParts parts, SlotPlan slot,
                       WaitingChild& waiting_child, std::vector<RankProcesses::Place> further,
                       v1::Assignment assignment)
    : settings_(settings),
      parts_(std::move(parts)),
      slot_(std::move(slot)),
      waiting_child_(waiting_child),
      assignment_(std::move(assignment)),
      reader_(settings.line_bytes_max),
      ranks_(parts_.io, settings, std::move(further)),
      kill_timer_(parts_.io),
      wait_timer_(parts_.io),
      send_timer_(parts_.io) {
  parts_.board.Add(token(), assignment_.stage_id(), slots());
}

std::vector<std::uint32_t> Supervisor::slots() const {
  std::vector<std::uint32_t> slots = {slot_.index};
  for (const RankProcesses::Place& place : ranks_.places()) slots.push_back(place.slot.index);
  return slots;
}

bool Supervisor::Uses(std::uint32_t slot) const {
  const std::vector<std::uint32_t> used = slots();
  return std::ranges::find(used, slot) != used.end();
}

asio::awaitable<Supervisor::Result> Supervisor::Run() {
  const Timestamp began = MonotonicNow();
  parts_.metrics.attempts_started.Increment();
  std::optional<v1::Outcome> outcome = co_await Prepare();
  while (!outcome && !parts_.leased() && !stopping()) co_await Pause(wait_timer_, std::chrono::minutes(1));
  bool runs = false;
  if (!outcome && !stopping()) {
    child_.oom_kills_before = OutOfMemoryKills();
    runs = assignment_.kind() == v1::EVALUATE_STAGE && !spec_.has_program_root() && TakeWaitingChild();
    if (!runs) co_await waiting_child_.End();
  }
  if (!outcome && !runs && stopping()) {
    outcome = ClassifyEnd({.exit = {}, .reported = {}, .stopped = stop_.kind, .stop_reason = stop_.reason});
  }
  if (!outcome) {
    absl::Status started = runs ? absl::OkStatus() : StartChild();
    if (started.ok()) started = co_await StartRanks();
    if (!started.ok()) outcome = NotStarted(started);
  }
  if (!outcome) {
    Failpoint("child.started");
    spdlog::info("attempt_started stage={} token={} attempt={} slots={} pid={} resume_step={}",
                 assignment_.stage_id(), token(), assignment_.attempt(), absl::StrJoin(slots(), ","),
                 child_.process->pid(), assignment_.resume_step());
    const ProcessExit exit = co_await AwaitChild();
    if (exit.signal == SIGKILL && !stopping()) co_await Pause(wait_timer_, settings_.killed_wait);
    outcome = co_await Finish(exit);
    if (exit.resident_bytes_max > 0) {
      const std::int64_t bytes = std::max(exit.resident_bytes_max, ranks_.ResidentBytesMax());
      outcome->set_peak_memory_mib(static_cast<std::uint64_t>(bytes + (1 << 20) - 1) >> 20);
    }
  }
  outcome->set_ran_ms(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(MonotonicNow() - began).count()));
  std::vector<v1::TrialEvent> last;
  if (reported_.final_checkpoint && outcome->kind() != v1::Outcome::FAILED)
    *last.emplace_back().mutable_checkpoint() = *reported_.final_checkpoint;
  *last.emplace_back().mutable_outcome() = *outcome;
  for (v1::TrialEvent& event : last) event.set_time_unix_ms(WallNow().unix_ms);
  Result result;
  result.outcome_sequence = Report(std::move(last));
  result.outcome = *std::move(outcome);
  parts_.metrics.AttemptEnded(result.outcome);
  parts_.artifacts.SetLive(folder_, false);
  spdlog::info("attempt_ended stage={} token={} slot={} outcome={} message={}", assignment_.stage_id(),
               token(), slot_.index, OutcomeLabel(result.outcome),
               LogText(absl::StrReplaceAll(result.outcome.message(), {{"\n", " |"}})));
  co_return result;
}

asio::awaitable<std::optional<v1::Outcome>> Supervisor::Prepare() {
  const absl::StatusOr<fs::path> folder = AttemptFolder(settings_.state_dir, assignment_.stage_id(), token());
  if (!folder.ok()) co_return FailedToPrepare(folder.status());
  folder_ = *folder;
  spec_.set_stage_id(assignment_.stage_id());
  spec_.set_token(token());
  spec_.set_kind(assignment_.kind());
  if (!spec_.mutable_spec()->ParseFromString(assignment_.spec())) {
    co_return FailedToPrepare(
        absl::InternalError(absl::StrCat("the coordinator's specification of ", assignment_.stage_id(),
                                         " cannot be read: coordinator and worker must be of one version")));
  }
  // A program's trained model that inlier evaluates is evaluated by inlier-trial.
  if (spec_.spec().has_program() && !spec_.spec().has_evaluation()) {
    const absl::StatusOr<v1::ProgramRoot> root = FindProgramRoot(settings_, spec_.spec().program());
    if (!root.ok()) {
      // Another worker may have it: this one is known to have no source of it.
      v1::TrialEvent started;
      started.mutable_started()->set_dataset_digest("");
      Report({std::move(started)});
      co_return FailedOutcome(v1::OTHER_DATA, std::string(root.status().message()));
    }
    spec_.set_program_root(root->root());
    spec_.set_trial_program(settings_.trial_program);
    spec_.mutable_container()->Assign(settings_.container.begin(), settings_.container.end());
  }
  spec_.set_output_dir(folder_.string());
  spec_.set_data_dir(settings_.data_dir.string());
  spec_.set_cache_dir(settings_.cache_dir.string());
  settings_.SetDataRoots(spec_);
  SetSlot(slot_, spec_);
  if (!ranks_.empty()) {
    v1::GangPlace& gang = *spec_.mutable_gang();
    gang.set_rank(0);
    gang.set_processes(static_cast<std::uint32_t>(slots().size()));
    gang.set_meeting((folder_ / "meeting").string());
    gang.set_shard_optimizer(assignment_.shard_optimizer());
    const auto elsewhere = [this](const auto& place) { return place.slot.machine != slot_.machine; };
    if (std::ranges::any_of(ranks_.places(), elsewhere)) gang.set_address(slot_.address);
  }
  if (const auto made = MakeClosedFolder(settings_, spec_, folder_); !made.ok()) co_return NotStarted(made);
  if (const absl::Status opened = log_.Open(folder_ / kAttemptLogName); !opened.ok())
    Warn(std::string(opened.message()));

  std::optional<v1::Outcome> outcome = co_await PrepareCheckpoint();
  if (outcome || stopping()) co_return outcome;
  const absl::Status written = PrepareAttemptFolder(folder_, spec_);
  if (!written.ok()) co_return NotStarted(written);
  co_return std::nullopt;
}

bool Supervisor::TakeWaitingChild() {
  child_.process = waiting_child_.Take();
  if (!child_.process) return false;
  child_.cpu_seconds_counted = child_.process->CpuSeconds();
  child_.process->ForgetPeak();
  child_.process->Redirect([this](std::string_view bytes) { OnEvents(bytes); },
                           [this](std::string_view bytes) { OnOutput(bytes); });
  if (child_.process->Send((folder_ / kAttemptSpecName).string() + "\n")) return true;
  child_.process.reset();
  return false;
}

absl::Status Supervisor::StartChild() {
  child_.cpu_seconds_counted = 0;
  std::vector<std::string> arguments = {(folder_ / kAttemptSpecName).string()};
  const bool evaluations = assignment_.kind() == v1::EVALUATE_STAGE && !spec_.has_program_root();
  if (evaluations) arguments.insert(arguments.begin(), "evaluations");
  ASSIGN_OR_RETURN(Command command, TrialCommand(settings_, slot_, spec_, std::move(arguments), folder_));
  command.has_input = command.has_input || evaluations;
  ASSIGN_OR_RETURN(child_.process,
                   TrialProcess::Start(
                       parts_.io, command, [this](std::string_view bytes) { OnEvents(bytes); },
                       [this](std::string_view bytes) { OnOutput(bytes); }));
  return absl::OkStatus();
}

asio::awaitable<absl::Status> Supervisor::StartRanks() {
  if (ranks_.empty()) co_return absl::OkStatus();
  const std::function<void(Duration)> on_broken = [this](Duration grace) { ArmKill(grace); };
  const absl::Status started = co_await ranks_.Start(spec_, folder_, on_broken);
  if (started.ok() && stopping()) ranks_.Signal(SIGTERM);
  if (!started.ok()) {
    child_.process.reset();
    ranks_.Signal(SIGKILL);
    co_await ranks_.End();
  }
  co_return started;
}

bool Supervisor::ChildStays() const {
  return assignment_.kind() == v1::EVALUATE_STAGE && !spec_.has_program_root() && slot_.here() &&
         reported_.outcome && !stopping() && reported_.outcome->kind() != v1::Outcome::FAILED;
}

asio::awaitable<ProcessExit> Supervisor::AwaitChild() {
  const bool ended = co_await child_.process->WaitForEnd();
  if (ended || !ChildStays()) co_return co_await child_.process->WaitForExit();
  ProcessExit exit;
  exit.cpu_seconds = child_.process->CpuSeconds();
  exit.resident_bytes_max = child_.process->PeakResidentBytes();
  waiting_child_.Keep(std::move(child_.process));
  co_return exit;
}

asio::awaitable<v1::Outcome> Supervisor::Finish(ProcessExit exit) {
  kill_timer_.cancel();
  if (spec_.has_program_root() && exit.signal != 0) KillProgramsOf(folder_);
  std::vector<v1::TrialEvent> events;
  for (const std::string& message : reader_.Finish(events)) Warn(message);
  log_.Finish([](const std::string&) {});
  Route(std::move(events));
  parts_.metrics.garbage_lines.Increment(static_cast<double>(reader_.garbage_lines()));
  co_await ranks_.End();
  CountCpu(exit.cpu_seconds + ranks_.CpuSeconds());
  const AttemptEnd end{.exit = exit,
                       .reported = reported_.outcome,
                       .stopped = stop_.kind,
                       .stop_reason = stop_.reason,
                       .out_of_memory_kill = OutOfMemoryKills() > child_.oom_kills_before,
                       .garbage_lines = reader_.garbage_lines(),
                       .first_garbage = reader_.first_garbage(),
                       .last_output = log_.last_lines()};
  v1::Outcome outcome = ranks_.OutcomeOf(ClassifyEnd(end), exit);
  if (outcome.kind() == v1::Outcome::FAILED && !reported_.outcome && !reported_.started && !stopping())
    outcome = co_await BlameOf(outcome, exit, settings_, parts_.disk);
  if (outcome.kind() != v1::Outcome::FAILED) {
    const absl::Status read = co_await CheckFilesRead();
    if (absl::IsDataLoss(read)) {
      co_await waiting_child_.End();
      outcome = FailedOutcome(v1::LOST, absl::StrCat("a file changed while it was read: ", read.message()));
    }
  }
  co_await EndSending(/*wanted=*/outcome.kind() == v1::Outcome::FAILED);
  if (outcome.kind() == v1::Outcome::FAILED) co_return outcome;
  if (!reported_.final_checkpoint) {
    if (assignment_.kind() == v1::TRAIN_STAGE && outcome.kind() == v1::Outcome::SUCCEEDED)
      co_return FailedOutcome(v1::CRASHED, "the training reported success without a final checkpoint");
    co_return outcome;
  }
  const std::function<absl::Status()> publish = [this] {
    return PublishArtifact(settings_.state_dir, folder_, *reported_.final_checkpoint);
  };
  const absl::Status published = co_await OnDisk(parts_.disk, publish);
  if (!published.ok()) {
    co_return FailedOutcome(v1::CRASHED,
                            absl::StrCat("the trained model could not be kept: ", published.message()));
  }
  if (parts_.artifacts.MovesFiles()) {
    const absl::Status sent = co_await SendModel();
    if (!sent.ok()) {
      co_return FailedOutcome(v1::LOST,
                              absl::StrCat("the trained model could not be sent to ",
                                           StoreText(parts_.artifacts.mode()), ": ", sent.message()));
    }
  }
  co_return outcome;
}

void Supervisor::Stop(StopKind kind, const std::string& reason, Duration grace) {
  if (kind == StopKind::kNotDesired) Abandon();
  if (transfers_.sending_model) return;
  if (!stopping()) {
    stop_.kind = kind;
    stop_.reason = reason;
    parts_.board.SetStopping(token());
    spdlog::info("attempt_stopping stage={} token={} slot={} reason={} grace_seconds={}",
                 assignment_.stage_id(), token(), slot_.index, LogText(reason), ToSeconds(grace));
    log_.WriteLine(absl::StrCat("stopping: ", reason));
    Wake();
    if (child_.process) child_.process->Signal(SIGTERM);
    ranks_.Signal(SIGTERM);
  }
  ArmKill(grace);
}

void Supervisor::ArmKill(Duration grace) {
  const Timestamp at = MonotonicNow() + grace;
  if (!child_.process || (stop_.kill_at && *stop_.kill_at <= at)) return;
  stop_.kill_at = at;
  const auto kill = [this] {
    if (child_.process) child_.process->Signal(SIGKILL);
    ranks_.Signal(SIGKILL);
  };
  if (grace <= Duration::zero()) return kill();
  kill_timer_.expires_after(grace);
  kill_timer_.async_wait([kill, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) kill();
  });
}

void Supervisor::BindTo(const std::vector<int>& cpus) {
  if (!child_.process) return;
  child_.process->Bind(cpus);
  spdlog::info("cpus_bound stage={} token={} slot={} cpus={}", assignment_.stage_id(), token(), slot_.index,
               absl::StrJoin(cpus, ","));
}

void Supervisor::CountCpu(double seconds_so_far) {
  if (seconds_so_far <= child_.cpu_seconds_counted) return;
  parts_.metrics.child_cpu_seconds.Increment(seconds_so_far - child_.cpu_seconds_counted);
  child_.cpu_seconds_counted = seconds_so_far;
}

void Supervisor::OnEvents(std::string_view bytes) {
  std::vector<v1::TrialEvent> events;
  for (const std::string& message : reader_.Feed(bytes, events)) Warn(message);
  Route(std::move(events));
}

void Supervisor::OnOutput(std::string_view bytes) {
  std::vector<v1::TrialEvent> events;
  log_.Write(bytes, [&](const std::string& line) { events.push_back(LogEvent(line)); });
  Route(std::move(events));
}

void Supervisor::Route(std::vector<v1::TrialEvent> events) {
  std::vector<v1::TrialEvent> reported;
  for (v1::TrialEvent& event : events) {
    switch (event.event_case()) {
      case v1::TrialEvent::kProgress: {
        v1::Progress& progress = *event.mutable_progress();
        if (!reported_.not_kept.empty()) progress.set_trouble(reported_.not_kept);
        if (progress.phase() == "train") {
          // A resumed training starts at its checkpoint's step: those updates were another attempt's.
          const std::uint64_t before = std::max(reported_.train_step, assignment_.resume_step());
          if (progress.step() > before)
            parts_.metrics.train_steps.Increment(static_cast<double>(progress.step() - before));
          reported_.train_step = std::max(reported_.train_step, progress.step());
        }
        parts_.board.SetProgress(token(), progress);
        parts_.request_sync(CoordinatorClient::Urgency::kProgress);
        break;
      }
      case v1::TrialEvent::kLog:
        if (++reported_.log_lines <= kLogLinesSentMax) reported.push_back(std::move(event));
        if (reported_.log_lines == kLogLinesSentMax) {
          reported.push_back(LogEvent(absl::StrCat("further lines are not sent; the output is in ",
                                                   (folder_ / kAttemptLogName).string(), " on the worker")));
        }
        break;
      case v1::TrialEvent::kStarted:
        reported_.started = true;
        if (!transfers_.resume_trouble.empty())
          event.mutable_started()->set_resume_trouble(transfers_.resume_trouble);
        // The CPUs of a gang's slots are all in use, and its ranks wait for the slowest.
        if (assignment_.kind() == v1::TRAIN_STAGE && !slot_.on_gpu() && ranks_.empty())
          parts_.training_runs(slot_.index);
        reported.push_back(std::move(event));
        break;
      case v1::TrialEvent::kOutcome:
        reported_.outcome = event.outcome();  // Held until the child is gone, or waits.
        if (ChildStays()) child_.process->StopWaiting();
        break;
      case v1::TrialEvent::kCheckpoint:
        Failpoint("checkpoint.send");
        if (event.checkpoint().final()) {
          reported_.final_checkpoint = event.checkpoint();  // Held until it is in artifacts/.
          break;
        }
        if (parts_.artifacts.MovesFiles() && IsSha256Hex(event.checkpoint().sha256())) {
          SendCheckpoint(std::move(event));
          break;
        }
        [[fallthrough]];
      default:
        reported.push_back(std::move(event));
    }
  }
  Report(std::move(reported));
}

void Supervisor::Warn(const std::string& message) {
  spdlog::warn("attempt_trouble stage={} token={} reason={}", assignment_.stage_id(), token(),
               LogText(message));
  log_.WriteLine(message);
  Report({LogEvent(message)});
}

std::uint64_t Supervisor::Report(std::vector<v1::TrialEvent> events) {
  if (events.empty()) return 0;
  std::vector<Outbox::Entry> entries;
  bool result = false;
  for (v1::TrialEvent& event : events) {
    result = result || MustKeep(event);
    entries.push_back({token(), assignment_.stage_id(), std::move(event)});
  }
  std::uint64_t last = 0;
  const absl::Status kept = parts_.outbox.Append(std::move(entries), &last);
  reported_.not_kept.clear();
  if (!kept.ok()) {
    reported_.not_kept = absl::StrCat("its reports are only in the memory of its worker: ", kept.message());
    // The events are delivered all the same; only a crash of the worker before that would lose them.
    spdlog::error("outbox_not_durable reason={} remedy=\"free space or repair the disk of state_dir\"",
                  LogText(kept.message()));
  }
  parts_.request_sync(result ? CoordinatorClient::Urgency::kResult : CoordinatorClient::Urgency::kPoint);
  return last;
}

}  // namespace inlier
