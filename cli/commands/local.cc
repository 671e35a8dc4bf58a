// inlier up, inlier run: both daemons on this machine.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/commands.h"
#include "cli/connection/local_mode.h"
#include "cli/connection/local_state.h"
#include "cli/interrupt.h"
#include "cli/programs/background.h"
#include "cli/programs/python_module.h"
#include "cli/programs/sampler.h"
#include "cli/rerun_report.h"
#include "cli/sweeps/sweep_submission.h"
#include "cli/sweeps/sweep_watch.h"
#include "cli/tables/table_printer.h"
#include "rpc/endpoint_file.h"

namespace inlier {
namespace {

void AddLocalArguments(CLI::App& command, LocalOptions& options) {
  command.add_option("--slots", options.slots, "Trials at once; default: one a GPU, or one a CPU core")
      ->check(CLI::Range(1, 1024));
  command.add_option("--data-dir", options.data_dir,
                     "Folder of corpora; default: the one that `make setup` fills");
  command.add_option("--port", options.port,
                     "gRPC port, and the page's 10000 higher; default: 7420 and 7421, or free ones");
  command.add_flag(
      "--new-database", options.new_database,
      "Start with an empty database where that of the folder is missing; its files are kept in set-aside/");
  command
      .add_option("--coordinator-set", options.coordinator_set,
                  "path=value for the coordinator's configuration")
      ->allow_extra_args(false);
  command.add_option("--worker-set", options.worker_set, "path=value for the worker's configuration")
      ->allow_extra_args(false);
}

std::filesystem::path CurrentFolder() {
  std::error_code error;
  return std::filesystem::current_path(error);
}

// The sampler of sweeps of the folder: of one, or of all.
std::vector<std::string> SamplerArguments(const Session& session, const std::string& which) {
  return {which, "--dir", session.dir.string(), "--patient"};
}
std::filesystem::path SamplerLog(const Session& session) { return session.dir / "logs" / "sampler.log"; }

absl::Status Poll(LocalDaemons& daemons) {
  const absl::Status status = daemons.Poll();
  for (const std::string& notice : daemons.TakeNotices()) PrintError(notice);
  return status;
}

// A folder that no setting names may be a link that came with another user's files.
absl::Status UseOwnFolder(Session& session) {
  session.UseFolder();
  std::error_code error;
  if (!session.choice().dir_by.empty() || !std::filesystem::is_symlink(session.dir, error))
    return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      session.dir.string(), " is a link to ", std::filesystem::read_symlink(session.dir, error).string(),
      "; to use that folder, name it: --dir ", session.dir.string()));
}

void PrintUp(const Session& session, const LocalDaemons& daemons, bool detached) {
  if (session.mode() == OutputMode::kJson) {
    PrintExact(absl::StrCat("{\"grpc\": \"", daemons.grpc_address(), "\", \"coordinator_http\": \"",
                            daemons.coordinator_http(), "\", \"worker_http\": \"", daemons.worker_http(),
                            "\"}\n"));
  } else if (session.people()) {
    const std::string worker =
        daemons.worker_http().empty() ? "" : absl::StrCat("  http://", daemons.worker_http(), "/metrics");
    std::error_code error;
    const std::filesystem::path token = LocalTokenFile(session.dir);
    Print(absl::StrCat(
        "inlier is up in ", session.dir.string(), "\n  gRPC      ", daemons.grpc_address(),
        "\n  page      inlier page --dir ", session.dir.string(), "\n  metrics   http://",
        daemons.coordinator_http(), "/metrics", worker, "\n  database  ",
        (session.dir / "inlier.db").string(), "\n  logs      ", (session.dir / "logs").string(), "\n",
        std::filesystem::exists(token, error)
            ? absl::StrCat("  token     ", token.string(), " (the command line finds it by --dir)\n")
            : "",
        "Submit a sweep: inlier submit sweeps/from-scratch.yaml --dir ", session.dir.string(),
        "      Stop: ", detached ? absl::StrCat("kill ", ::getpid()) : "Ctrl-C", "\n"));
  }
}

// Starts the sampler of all sweeps once an active one wants points. It is not started again after an error, which is printed.
class SamplerOfUp {
 public:
  explicit SamplerOfUp(Session& session) : session_(session) {}

  void Poll() {
    if (failed_) return;
    absl::Status status = absl::OkStatus();
    if (sampler_ != nullptr) {
      status = sampler_->Poll();
    } else if (MonotonicNow() >= next_look_) {
      next_look_ = MonotonicNow() + std::chrono::seconds(1);
      if (Wanted()) status = Start();
    }
    if (status.ok()) return;
    failed_ = true;
    PrintError(absl::StrCat("no points are asked for: ", status.message()));
  }

 private:
  bool Wanted() {
    v1::ListSweepsRequest request;
    request.set_active(true);
    request.set_all(true);
    do {
      const auto page = session_.Call(&SweepStub::ListSweeps, request, 5);
      if (!page.ok()) return false;
      if (std::ranges::any_of(page->sweeps(), [](const auto& one) { return one.to_ask() > 0; })) return true;
      request.set_page_token(page->next_page_token());
    } while (!request.page_token().empty());
    return false;
  }
  absl::Status Start() {
    RETURN_IF_ERROR(CheckPython(kOptimizeModule));
    ASSIGN_OR_RETURN(sampler_, Sampler::Start(SamplerArguments(session_, "--all"), SamplerLog(session_)));
    return absl::OkStatus();
  }

  Session& session_;
  std::unique_ptr<Sampler> sampler_;
  Timestamp next_look_ = MonotonicNow();
  bool failed_ = false;
};

// `background`: where this process is one that its starter waits for; null: none.
absl::Status Up(Session& session, LocalOptions options, Background* background) {
  RETURN_IF_ERROR(UseOwnFolder(session));
  options.dir = session.dir;
  options.data_roots = {CurrentFolder()};
  ASSIGN_OR_RETURN(options.security, session.Security());
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalDaemons> daemons, LocalDaemons::Start(options));
  PrintUp(session, *daemons, background != nullptr);
  if (background != nullptr) RETURN_IF_ERROR(background->Leave(session.dir / "logs" / "up.log"));
  SamplerOfUp sampler(session);
  while (!Interrupted()) {
    RETURN_IF_ERROR(Poll(*daemons));
    sampler.Poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (session.people()) Print("stopping: running trials write a checkpoint first\n");
  daemons->Stop();
  return absl::OkStatus();
}

// The sweep from submission to table, with the daemons of `daemons` (null: others are running already).
absl::StatusOr<ExitCode> RunSweep(Session& session, const CheckedSweep& checked,
                                  const SweepArguments& arguments, LocalDaemons* daemons,
                                  std::string* sweep_id) {
  ASSIGN_OR_RETURN(const v1::SubmitSweepResponse submitted, Submit(session, checked, arguments));
  *sweep_id = submitted.sweep_id();
  if (session.people()) {
    Print(absl::StrCat("sweep ", submitted.sweep_id(), " (", checked.spec.name(),
                       "): ", TrialsText(submitted), "\n"));
  }
  WatchOptions options;
  options.json_updates = false;
  std::unique_ptr<Sampler> sampler;
  if (checked.spec.sampling().has_optuna()) {
    ASSIGN_OR_RETURN(sampler, Sampler::Start(SamplerArguments(session, *sweep_id), SamplerLog(session)));
  }
  options.poll = [daemons, &sampler]() -> absl::Status {
    if (daemons != nullptr) RETURN_IF_ERROR(Poll(*daemons));
    return sampler != nullptr ? sampler->Poll() : absl::OkStatus();
  };
  const absl::StatusOr<v1::SweepStatus> status = FollowSweep(session, submitted.sweep_id(), options);
  if (absl::IsCancelled(status.status())) {
    return absl::CancelledError(absl::StrCat(
        "interrupted; run the same command again to go on from its checkpoints: as another sweep, for which "
        "what is done counts. `inlier up` goes on with ",
        submitted.sweep_id(), " itself, `inlier cancel ", submitted.sweep_id(), "` ends it"));
  }
  RETURN_IF_ERROR(status.status());
  if (session.people()) Print("\n");
  RETURN_IF_ERROR(PrintTable(session, {.sweeps = {submitted.sweep_id()}}));
  if (arguments.again) RETURN_IF_ERROR(PrintReruns(session, submitted.sweep_id()));
  return ExitCodeOfSweep(*status);
}

// Null where a coordinator of the folder runs. Of several `inlier run` at once the first starts it.
absl::StatusOr<std::unique_ptr<LocalDaemons>> StartUnlessRunning(const Session& session,
                                                                 const LocalOptions& options) {
  ASSIGN_OR_RETURN(const FileLock starting, FileLock::Acquire(session.dir / "start.lock", nullptr));
  ASSIGN_OR_RETURN(const FolderCoordinator other, CoordinatorOf(session.dir));
  const bool others =
      other.state == FolderCoordinator::kRunning || other.state == FolderCoordinator::kStarting;
  if (others || FileLock::Probe(UpLockFile(session.dir)) == LockUse::kHeld) return nullptr;
  if (session.people())
    Print(absl::StrCat("starting coordinator and worker in ", session.dir.string(), "\n"));
  return LocalDaemons::Start(options);
}

// Stops the daemons once no other `inlier run` of the folder uses them, or at Ctrl-C.
absl::Status StopWhenUnused(const Session& session, LocalDaemons& daemons) {
  bool announced = false;
  while (!Interrupted()) {
    ASSIGN_OR_RETURN(const std::optional<FileLock> alone, FileLock::TryAcquire(RunLockFile(session.dir)));
    if (alone.has_value()) {  // It is held while they stop.
      daemons.Stop();
      return absl::OkStatus();
    }
    if (!std::exchange(announced, true) && session.people()) {
      Print(absl::StrCat("\nAnother `inlier run` uses the coordinator and the worker in ",
                         session.dir.string(), ": they stop when it ends, or at Ctrl-C\n"));
    }
    RETURN_IF_ERROR(Poll(daemons));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  daemons.Stop();
  return absl::OkStatus();
}

absl::Status Run(Session& session, const SweepArguments& arguments, LocalOptions options) {
  RETURN_IF_ERROR(UseOwnFolder(session));
  options.dir = session.dir;
  std::error_code error;
  options.data_roots = {CurrentFolder(),
                        std::filesystem::absolute(arguments.file, error).lexically_normal().parent_path()};
  ASSIGN_OR_RETURN(options.security, session.Security());
  SweepArguments named = arguments;
  named.data_dir = options.data_dir;
  ASSIGN_OR_RETURN(const CheckedSweep checked, ReadAndCheck(named));
  RETURN_IF_ERROR(PrintWarnings(checked, named, DataMust::kBeHere));
  if (checked.spec.sampling().has_optuna()) RETURN_IF_ERROR(CheckPython(kOptimizeModule));
  RETURN_IF_ERROR(CloseStateFolder(session.dir));
  // Held while this run needs daemons, its own or those of another run.
  ASSIGN_OR_RETURN(std::optional<FileLock> needs_daemons,
                   FileLock::AcquireShared(RunLockFile(session.dir), nullptr));
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalDaemons> daemons, StartUnlessRunning(session, options));
  std::string sweep_id;
  const absl::StatusOr<ExitCode> code = RunSweep(session, checked, arguments, daemons.get(), &sweep_id);
  if (code.ok() && session.people()) {
    const std::string dir = session.dir.string();
    const std::string database = (session.dir / "inlier.db").string();
    Print(absl::StrCat("\nEverything is in ", database, ":  sqlite3 \"file:", database,
                       "?mode=ro\" \"SELECT label, perplexity FROM results WHERE sweep_id = '", sweep_id,
                       "'\"\nView it again:     inlier table ", sweep_id, " --dir ", dir,
                       " --format markdown\nYour own sweep:    copy ", arguments.file,
                       ", change an axis, `inlier check` it (fields: inlier params), run it the same way\n"));
  }
  needs_daemons.reset();
  if (daemons != nullptr) RETURN_IF_ERROR(StopWhenUnused(session, *daemons));
  RETURN_IF_ERROR(code.status());
  session.Finish(*code);
  return absl::OkStatus();
}

}  // namespace

void AddUpCommand(CLI::App& app, Session& session) {
  auto options = std::make_shared<LocalOptions>();
  auto detach = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("up", "Start coordinator and worker on this machine; Ctrl-C stops them");
  AddLocalArguments(*command, *options);
  command->add_flag("--detach", *detach, "Return when they are ready; they run on in the background");
  command->callback([&session, options, detach] {
    CatchInterrupts();
    std::optional<Background> background;
    if (*detach) {
      const absl::StatusOr<int> ended = Background::Enter(background);
      if (!ended.ok()) return session.Finish(ended.status());
      if (!background) return session.Finish(static_cast<ExitCode>(*ended));  // The process that was called.
    }
    session.Finish(Up(session, *options, background ? &*background : nullptr));
  });
}

void AddRunCommand(CLI::App& app, Session& session) {
  auto options = std::make_shared<LocalOptions>();
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command = app.add_subcommand(
      "run", "Run one sweep from start to table on this machine: up, submit, watch, table, stop");
  AddSweepArguments(*command, *arguments, true);
  AddLocalArguments(*command, *options);
  command->callback([&session, options, arguments] {
    CatchInterrupts();
    session.Finish(Run(session, *arguments, *options));
  });
}

}  // namespace inlier
