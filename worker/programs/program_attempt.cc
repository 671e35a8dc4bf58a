#include "worker/programs/program_attempt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/files/checkpoint_tar.h"
#include "base/files/file.h"
#include "base/processes/other_user.h"
#include "base/run_program.h"
#include "base/status.h"
#include "spec/program/find_program.h"
#include "spec/program/program_description.h"
#include "spec/program/trial_form.h"
#include "spec/schema/number_text.h"
#include "spec/trial/canonical.h"
#include "spec/trial/outcome.h"
#include "worker/attempt_folder.h"
#include "worker/programs/container.h"
#include "worker/programs/program_environment.h"
#include "worker/programs/program_lines.h"
#include "worker/programs/program_roots.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Struct;
using TrialJson = nlohmann::ordered_json;

constexpr std::size_t kLineBytesMax = 65536;
constexpr std::uint64_t kGarbageToldMax = 3;
constexpr Duration kProgressEvery = std::chrono::milliseconds(250);
constexpr auto kDigestHours = std::chrono::hours(12);  // Of reading all data once.
constexpr std::size_t kTarsKept = 2;  // The newest checkpoints: one of them may be on its way to the store.

TrialJson JsonOf(const google::protobuf::Value& value) {
  if (value.kind_case() == google::protobuf::Value::kBoolValue) return value.bool_value();
  if (value.kind_case() == google::protobuf::Value::kStringValue) return value.string_value();
  return TrialJson::parse(FormatNumber(value.number_value()));  // A whole number stays one.
}

// Parameters by name ("optimizer.lr") as nested objects.
void AddParameters(const Struct& parameters, TrialJson& to) {
  for (const auto& [name, value] : parameters.fields()) {
    TrialJson* at = &to;
    for (const absl::string_view word : absl::StrSplit(name, '.')) at = &(*at)[std::string(word)];
    *at = JsonOf(value);
  }
}

v1::Outcome Succeeded() {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::SUCCEEDED);
  return outcome;
}

// Those of kSettings that the trial has.
TrialJson SettingsOf(const v1::TrialSpec& trial) {
  const TrialJson all = TrialJson::parse(ResolvedJson(trial));
  TrialJson settings = TrialJson::object();
  for (const char* name : kSettings) {
    if (all.contains(name)) settings[name] = all.at(name);
  }
  return settings;
}

}  // namespace

absl::StatusOr<std::string> DigestWithData(const v1::AttemptSpec& spec, const std::string& source,
                                           const std::string& spec_file) {
  // Other source is told by its own digest, which no trial with data has.
  if (!spec.spec().program().has_source() || source != spec.spec().program().source()) return source;
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  ASSIGN_OR_RETURN(const std::string printed, OutputOf({.program = spec.trial_program(),
                                                        .arguments = {"digest", spec_file},
                                                        .environment = std::move(environment),
                                                        .limit = kDigestHours},
                                                       "reading the data of the trial"));
  return std::string(absl::StripAsciiWhitespace(printed));
}

void ProgramAttempt::Log(const std::string& text) {
  v1::TrialEvent event;
  event.mutable_log()->set_text(text);
  on_event_(std::move(event));
}

v1::Outcome ProgramAttempt::Run() {
  if (const std::optional<v1::Outcome> ended = Begin()) return *ended;
  if (const absl::Status allowed = CheckParameters(); !allowed.ok())
    return FailedOutcome(v1::INVALID_SPEC, std::string(allowed.message()));
  if (const absl::Status prepared = Prepare(); !prepared.ok())
    return FailedOutcome(v1::CRASHED, std::string(prepared.message()));
  return RunToEnd();
}

std::optional<v1::Outcome> ProgramAttempt::Begin() {
  if (const absl::Status opened = Open(); !opened.ok())
    return FailedOutcome(v1::INVALID_SPEC, std::string(opened.message()));
  const std::string& wanted = SourceOf(spec_.spec().program());
  if (digest_ != wanted) {
    return FailedOutcome(v1::OTHER_DATA, absl::StrCat("the source of ", spec_.spec().program().name(), " in ",
                                                      root_.string(), " has digest ", digest_.substr(0, 12),
                                                      ", the sweep ", wanted.substr(0, 12),
                                                      "; put that source there, or submit the sweep again"));
  }
  if (!IsTraining() && description_.evaluate().empty()) return Succeeded();
  return std::nullopt;
}

absl::Status ProgramAttempt::Open() {
  root_ = spec_.program_root();
  ASSIGN_OR_RETURN(const v1::ProgramUse use, UseOfProgram(root_));
  description_ = use.description();
  digest_ = use.digest();
  v1::TrialEvent event;
  v1::Started& started = *event.mutable_started();
  started.set_pid(::getpid());
  const v1::ProgramEnvironment& environment = description_.environment();
  started.set_build(absl::StrCat(description_.name(), " ", digest_.substr(0, 12),
                                 environment.has_image() ? " in " : "", environment.image()));
  started.set_device(spec_.device());
  started.set_threads(spec_.threads());
  started.set_host(HostName());
  ASSIGN_OR_RETURN(*started.mutable_dataset_digest(),
                   DigestWithData(spec_, digest_, (OwnFolder() / kAttemptSpecName).string()));
  if (spec_.has_resume_from()) started.set_resumed_step(static_cast<std::uint32_t>(spec_.resume_step()));
  on_event_(std::move(event));
  return absl::OkStatus();
}

absl::Status ProgramAttempt::CheckParameters() const {
  v1::ProgramUse use;
  use.set_name(description_.name());
  use.set_digest(digest_);
  *use.mutable_description() = description_;
  // Those of the evaluation are not there in a training.
  for (auto& [name, parameter] : *use.mutable_description()->mutable_parameters()) parameter.clear_required();
  ASSIGN_OR_RETURN(const auto form, TrialForm::OfProgram(use));
  SeriesValidator series;
  return Annotate(form->Find(spec_.spec(), series).ToStatus(),
                  absl::StrCat("not as ", (root_ / kProgramFileName).string(), " allows it"));
}

// Of each process of a gang, all of which have one output_dir.
fs::path ProgramAttempt::OwnFolder() const {
  const fs::path attempt = spec_.output_dir();
  return spec_.gang().rank() == 0 ? attempt : attempt / absl::StrCat("process-", spec_.gang().rank());
}

absl::Status ProgramAttempt::Prepare() {
  RETURN_IF_ERROR(MakeFolder(output()));
  TrialJson trial = {{"protocol", 1},
                     {"program", spec_.spec().program().name()},
                     {"stage", IsTraining() ? "train" : "evaluate"},
                     {"parameters", TrialJson::object()},
                     {"seed", spec_.spec().seed()},
                     {"output_dir", output().string()},
                     {"device", spec_.device()},
                     {"threads", spec_.threads()},
                     {"rank", spec_.gang().rank()},
                     {"world_size", spec_.has_gang() ? spec_.gang().processes() : 1},
                     {"stage_id", spec_.stage_id()},
                     {"token", spec_.token()}};
  for (const Struct* part :
       {&spec_.spec().program().parameters(), &spec_.spec().program().incidental(),
        &spec_.spec().program_evaluation().parameters(), &spec_.spec().program_evaluation().incidental()})
    AddParameters(*part, trial["parameters"]);
  if (spec_.spec().has_data()) trial["settings"] = SettingsOf(spec_.spec());
  const fs::path own = OwnFolder();
  RETURN_IF_ERROR(MakeFolder(own));
  if (spec_.has_resume_from()) {
    ASSIGN_OR_RETURN(const fs::path saved, UnpackCheckpoint(spec_.resume_from(), own / "resume", user_));
    if (!saved.empty()) trial["resume_from"] = saved.string();
    trial["resume_step"] = spec_.resume_step();
  }
  if (spec_.has_checkpoint()) {
    ASSIGN_OR_RETURN(const fs::path model, UnpackCheckpoint(spec_.checkpoint(), own / "model", user_));
    if (!model.empty()) trial["model"] = model.string();
  }
  if (spec_.gang().has_meeting()) trial["meeting"] = (output() / "meeting").string();  // Where it may write.
  RETURN_IF_ERROR(WriteFile(own / "trial.json", trial.dump(2) + "\n"));
  RETURN_IF_ERROR(GiveTo(user_, output()));
  const auto& words = IsTraining() ? description_.command() : description_.evaluate();
  command_ = {.words = {words.begin(), words.end()},
              .variables = {},
              .folder = root_,
              .user = user_,
              .cpus = {spec_.cpus().begin(), spec_.cpus().end()}};
  ASSIGN_OR_RETURN(command_.variables, ProgramVariables(root_, description_, own / "trial.json"));
  const v1::ProgramEnvironment& environment = description_.environment();
  return environment.has_image() ? PutIntoContainer(spec_, environment.image(), own, command_)
                                 : absl::OkStatus();
}

v1::Outcome ProgramAttempt::RunToEnd() {
  const absl::Status started = process_.Start(command_);
  if (absl::IsCancelled(started)) return FailedOutcome(v1::PREEMPTED, "stopped on request");
  if (!started.ok())
    return FailedOutcome(v1::CRASHED, absl::StrCat("the program cannot be started: ", started.message(),
                                                   "; correct command or environment of ",
                                                   (root_ / kProgramFileName).string()));
  LineSplitter lines(kLineBytesMax);
  const auto on_line = [this](const LineSplitter::Line& line) { TakeLine(line); };
  const int status = process_.Wait([&](std::string_view bytes) { lines.Feed(bytes, on_line); });
  lines.Finish(on_line);
  if (description_.environment().has_image() && WIFSIGNALED(status)) RemoveContainer(spec_, command_);
  if (broken_) return *broken_;
  const bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const std::string how = WIFEXITED(status) ? absl::StrCat("ended with status ", WEXITSTATUS(status))
                                            : absl::StrCat("was ended by signal ", WTERMSIG(status));
  if (outcome_ && (outcome_->kind() == v1::Outcome::FAILED || clean)) return Finished();
  if (process_.stopped() || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
    return FailedOutcome(v1::PREEMPTED, "stopped on request");
  return FailedOutcome(
      v1::CRASHED,
      absl::StrCat(
          "the program ", how, outcome_ ? " after it reported a result" : " without an outcome",
          clean ? "; its last line on descriptor 3 must be {\"outcome\": {\"kind\": \"SUCCEEDED\"}}"
                : "; its output is in the log",
          first_garbage_.empty() ? "" : absl::StrCat("; a line of it was refused: ", first_garbage_)));
}

v1::Outcome ProgramAttempt::Finished() {
  if (!IsTraining() || outcome_->kind() != v1::Outcome::SUCCEEDED || has_final_) return *outcome_;
  const absl::Status kept = Keep(fs::path(), 0, /*final=*/true);
  return kept.ok() ? *outcome_ : FailedOutcome(v1::CRASHED, std::string(kept.message()));
}

void ProgramAttempt::TakeLine(const LineSplitter::Line& line) {
  if (broken_ || line.text.empty()) return;
  absl::StatusOr<ProgramLine> read = ParseProgramLine(line.text, description_);
  if (line.cut && !absl::IsFailedPrecondition(read.status()))
    read = absl::InvalidArgumentError(absl::StrCat("it has more than ", kLineBytesMax, " bytes"));
  if (absl::IsFailedPrecondition(read.status()))
    return Break(v1::INVALID_SPEC, std::string(read.status().message()));
  if (!read.ok()) return TakeGarbage(line.text, read.status());
  const v1::TrialEvent& event = read->event;
  absl::Status taken;
  if (event.has_outcome()) {
    outcome_ = event.outcome();
  } else if (event.has_checkpoint()) {
    taken = TakeCheckpoint(event.checkpoint());
  } else if (!read->kept_file.empty()) {
    taken = KeepFile(read->kept_file);
  } else if (!event.has_progress() || IsDue(event.progress())) {
    on_event_(event);
  }
  if (!taken.ok()) Log(absl::StrCat("inlier: ", taken.message()));
}

bool ProgramAttempt::IsDue(const v1::Progress& progress) {
  const Timestamp now = MonotonicNow();
  const bool last = progress.has_steps_total() && progress.step() >= progress.steps_total();
  if (last_progress_ && now - *last_progress_ < kProgressEvery && !last) return false;
  last_progress_ = now;
  return true;
}

void ProgramAttempt::TakeGarbage(std::string_view text, const absl::Status& status) {
  if (++garbage_ > kGarbageToldMax) return;
  const std::string told = absl::StrCat("\"", Printable(text, 200), "\": ", status.message());
  if (first_garbage_.empty()) first_garbage_ = told;
  Log(absl::StrCat("inlier: a line on descriptor 3 was refused: ", told));
}

void ProgramAttempt::Break(v1::FailureClass failure, const std::string& message) {
  broken_ = FailedOutcome(failure, message);
  process_.Kill();
}

absl::StatusOr<fs::path> ProgramAttempt::InOutput(const std::string& path) const {
  const fs::path given = path;
  const fs::path relative = given.is_absolute() ? given.lexically_relative(output()) : given;
  ASSIGN_OR_RETURN(const fs::path found, PathBelow(output(), relative.string()));
  const fs::path below = found.lexically_relative(output());
  return below.has_filename() ? below : below.parent_path();  // It had a slash at its end.
}

absl::Status ProgramAttempt::TakeCheckpoint(const v1::CheckpointSaved& saved) {
  if (!IsTraining() || spec_.gang().rank() > 0) return absl::OkStatus();
  const absl::StatusOr<fs::path> path = InOutput(saved.path());
  absl::Status kept = path.status();
  if (kept.ok()) kept = Keep(*path, saved.step(), saved.final());
  if (!kept.ok() && saved.final())
    Break(v1::CRASHED, absl::StrCat("the trained model cannot be kept: ", kept.message()));
  // The program may remove its own copy then.
  if (kept.ok()) process_.Reply(absl::StrCat("{\"saved\": {\"step\": ", saved.step(), "}}\n"));
  return Annotate(kept, absl::StrCat("keeping the checkpoint of step ", saved.step()));
}

absl::Status ProgramAttempt::Keep(const fs::path& path, std::uint64_t step, bool final) {
  const std::string name = final ? "model.tar" : CheckpointName(step);
  const fs::path tar = fs::path(spec_.output_dir()) / name;
  RETURN_IF_ERROR(PackCheckpoint(output(), path, user_, tar));
  v1::TrialEvent event;
  v1::CheckpointSaved& saved = *event.mutable_checkpoint();
  saved.set_step(step);
  saved.set_path(name);
  ASSIGN_OR_RETURN(*saved.mutable_sha256(), Sha256HexOfFile(tar));
  saved.set_bytes(SizeOf(tar));
  saved.set_final(final);
  has_final_ = has_final_ || final;
  RETURN_IF_ERROR(SyncPath(tar));
  on_event_(std::move(event));
  if (final) return absl::OkStatus();
  std::erase(tars_, tar);
  tars_.push_back(tar);
  std::error_code ignored;
  if (tars_.size() > kTarsKept) fs::remove(tars_.front(), ignored);
  if (tars_.size() > kTarsKept) tars_.erase(tars_.begin());
  return absl::OkStatus();
}

absl::Status ProgramAttempt::KeepFile(const std::string& name) {
  ASSIGN_OR_RETURN(const fs::path path, InOutput(name));
  const fs::path kept = fs::path(spec_.output_dir()) / kAttemptFilesFolder;
  RETURN_IF_ERROR(MoveBelow(output(), path, kept));
  Log(absl::StrCat("inlier kept ", (kept / path).string()));
  return absl::OkStatus();
}

std::vector<v1::TrialEvent> EvaluateNothingOf(const v1::AttemptSpec& spec) {
  std::vector<v1::TrialEvent> events;
  if (spec.kind() != v1::EVALUATE_STAGE || !spec.has_program_root()) return events;
  const absl::StatusOr<v1::ProgramDescription> read = ReadProgram(spec.program_root());
  if (!read.ok() || !read->evaluate().empty()) return events;
  ProgramAttempt attempt(spec, "", [&events](v1::TrialEvent event) {
    event.mutable_started()->clear_pid();  // This is the worker's.
    events.push_back(std::move(event));
  });
  const std::optional<v1::Outcome> outcome = attempt.Begin();
  if (outcome) *events.emplace_back().mutable_outcome() = *outcome;
  return events;
}

}  // namespace inlier
