#include "worker/programs/program_trial_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/checkpoint_tar.h"
#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/files/scratch_folder.h"
#include "base/status.h"
#include "inlier/v1/attempt.pb.h"
#include "spec/program/find_program.h"
#include "spec/program/measurement_list.h"
#include "spec/program/program_description.h"
#include "spec/program/trial_form.h"
#include "spec/schema/overrides.h"
#include "worker/programs/container.h"
#include "worker/programs/program_attempt.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr Duration kGrace = std::chrono::seconds(10);

// What an attempt reported.
struct Seen {
  v1::Outcome outcome;
  std::map<std::string, double> results;  // Final measurements.
  std::set<std::string> reported;         // All, also points of curves.
  std::optional<std::uint64_t> first_step;
  bool has_progress = false;
  std::vector<v1::CheckpointSaved> saved;
  std::optional<v1::CheckpointSaved> model;
  std::vector<std::string> warnings;
  bool ignored_stop = false;
};

class TrialRun {
 public:
  explicit TrialRun(fs::path root) : root_(std::move(root)) {}

  absl::Status Open(const std::vector<std::string>& settings) {
    ASSIGN_OR_RETURN(const v1::ProgramUse use, UseOfProgram(root_));
    inlier_evaluates_ = InlierEvaluates(use.description());
    has_evaluation_ = !use.description().evaluate().empty() && !inlier_evaluates_;
    ASSIGN_OR_RETURN(const auto form, TrialForm::OfProgram(use));
    measurements_ = form->measurements();
    ASSIGN_OR_RETURN(runtime_, FindContainerRuntime(std::nullopt));
    const std::unique_ptr<google::protobuf::Message> point = form->New();
    RETURN_IF_ERROR(ApplyOverrides(point.get(), settings));
    form->Write(*point, &trial_);
    RETURN_IF_ERROR(form->Resolve(&trial_));
    SeriesValidator series;
    RETURN_IF_ERROR(form->Find(trial_, series).ToStatus());
    if (!folder().empty()) return absl::OkStatus();
    return absl::UnavailableError("cannot make a temporary folder; name a place for it with TMPDIR");
  }

  void Run() {
    const Seen whole = Attempt("train", v1::TRAIN_STAGE);
    if (!Judge("the training", whole)) return;
    Declared("training", "train", whole);
    if (!whole.has_progress)
      Wrong(
          "it reports no progress: an attempt that reports nothing for 10 minutes is ended as STALLED; "
          "report "
          "{\"progress\": {\"step\": 1}} now and then");
    if (whole.saved.empty()) {
      Note("it saves no checkpoint on the way: an attempt that ends early starts from scratch");
    } else {
      StopAndResume(whole);
    }
    if (inlier_evaluates_) CheckModel(whole);
    if (!has_evaluation_) return;
    if (!whole.model)
      Note("it reports no trained model (a checkpoint with \"final\": true): its evaluation gets none");
    const Seen evaluation =
        Attempt("evaluate", v1::EVALUATE_STAGE, {}, whole.model ? Path("train", *whole.model) : fs::path());
    if (Judge("the evaluation", evaluation)) Declared("evaluation", "evaluate", evaluation);
  }

  const std::vector<std::string>& wrong() const { return wrong_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const fs::path& folder() const { return scratch_.path(); }  // Of its attempts.
  void Wrong(std::string text) { wrong_.push_back(std::move(text)); }
  void Note(std::string text) { notes_.push_back(std::move(text)); }
  fs::path Path(const char* attempt, const v1::CheckpointSaved& saved) const {
    return folder() / attempt / saved.path();
  }

  // `stop`: it is asked to stop at its first checkpoint.
  Seen Attempt(const char* name, v1::StageKind kind, const v1::CheckpointSaved& resume = {},
               const fs::path& model = {}, bool stop = false) {
    std::fprintf(stderr, "inlier: %s ...\n", name);
    v1::AttemptSpec spec;
    spec.set_stage_id("st-1");
    spec.set_token(1);
    spec.set_kind(kind);
    *spec.mutable_spec() = trial_;
    spec.set_program_root(root_.string());
    spec.set_output_dir((folder() / name).string());
    if (!runtime_.empty()) spec.add_container(runtime_);
    spec.set_device("cpu");
    spec.set_threads(1);
    if (resume.has_path()) {
      spec.set_resume_from(Path("stopped", resume).string());
      spec.set_resume_step(resume.step());
    }
    if (!model.empty()) spec.set_checkpoint(model.string());
    Seen seen;
    ProgramAttempt* running = nullptr;
    ProgramAttempt attempt(spec, "", [&](const v1::TrialEvent& event) {
      Take(event, seen);
      if (stop && event.has_checkpoint() && !event.checkpoint().final() && seen.saved.size() == 1)
        running->Stop(kGrace);
    });
    running = &attempt;
    seen.outcome = attempt.Run();
    seen.ignored_stop = attempt.ignored_stop();
    return seen;
  }

  static void Take(const v1::TrialEvent& event, Seen& seen) {
    if (event.has_progress()) seen.has_progress = true;
    if (event.progress().has_step() && !seen.first_step) seen.first_step = event.progress().step();
    if (event.has_measurement()) seen.reported.insert(event.measurement().name());
    if (event.measurement().final()) seen.results[event.measurement().name()] = event.measurement().value();
    if (event.has_log() && event.log().text().starts_with("inlier: "))
      seen.warnings.push_back(event.log().text().substr(8));
    if (event.has_checkpoint() && event.checkpoint().final()) {
      seen.model = event.checkpoint();
    } else if (event.has_checkpoint()) {
      seen.saved.push_back(event.checkpoint());
    }
  }

  // False where the attempt has no result.
  bool Judge(const std::string& what, const Seen& seen) {
    for (const std::string& warning : seen.warnings) Wrong(absl::StrCat(what, ": ", warning));
    if (seen.outcome.kind() == v1::Outcome::FAILED)
      Wrong(absl::StrCat(what, " failed, ", v1::FailureClass_Name(seen.outcome.failure()), ": ",
                         seen.outcome.message()));
    return seen.outcome.kind() == v1::Outcome::SUCCEEDED;
  }

  // `source`: as in MeasurementInfo.
  void Declared(const std::string& what, const char* source, const Seen& seen) {
    for (const MeasurementInfo& info : measurements_->all()) {
      const std::string name(info.name);
      if (info.source == source && !seen.reported.contains(name))
        Wrong(
            absl::StrCat("its ", what, " never reports ", name,
                         ", which inlier-program.yaml declares; report it, or take it out of measurements"));
    }
  }

  // What it saved is what inlier's evaluation reads.
  void CheckModel(const Seen& whole) {
    const absl::StatusOr<fs::path> model =
        whole.model ? UnpackCheckpoint(Path("train", *whole.model), scratch_.path() / "model")
                    : absl::NotFoundError("it reports none");
    if (model.ok() && fs::exists(*model / "config.json"))
      return Note(
          "its evaluation is inlier's own, which is not tried here; `inlier analyze` reads such a folder");
    Wrong(
        absl::StrCat("evaluate is [inlier], and its training reports no folder of Hugging Face as its final "
                     "checkpoint",
                     model.ok() ? "" : absl::StrCat(" (", model.status().message(), ")"),
                     "; report the folder that save_pretrained wrote, with final: true"));
  }

  void StopAndResume(const Seen& whole) {
    const Seen stopped = Attempt("stopped", v1::TRAIN_STAGE, {}, {}, /*stop=*/true);
    if (stopped.ignored_stop)
      return Wrong(
          "it ignores SIGTERM: after the grace it is killed, and what it has done since its last checkpoint "
          "is lost; save a "
          "checkpoint and end");
    if (stopped.saved.empty() || stopped.outcome.failure() != v1::PREEMPTED)
      return Note(
          "it ended before it could be stopped in the middle, so that resumption was not tried; give it more "
          "steps with --set");
    const v1::CheckpointSaved& last = stopped.saved.back();
    const Seen resumed = Attempt("resumed", v1::TRAIN_STAGE, last);
    if (!Judge("the resumed training", resumed)) return;
    if (resumed.first_step && *resumed.first_step <= last.step())
      Wrong(absl::StrCat("it does not resume: with resume_from of step ", last.step(),
                         " its first progress is step ", *resumed.first_step,
                         "; read resume_from and resume_step of the trial's file"));
    for (const auto& [name, value] : resumed.results) {
      const auto before = whole.results.find(name);
      if (before != whole.results.end() && before->second != value)
        Note(absl::StrCat(name, " is ", value, " when it is stopped and resumed, and ", before->second,
                          " without: its checkpoint does "
                          "not have all of its state, or it does not follow the seed"));
    }
  }

  const fs::path root_;
  const ScratchFolder scratch_{"test-program"};
  std::string runtime_;  // Of images.
  bool has_evaluation_ = false, inlier_evaluates_ = false;
  std::shared_ptr<const MeasurementList> measurements_;
  v1::TrialSpec trial_;
  std::vector<std::string> wrong_, notes_;
};

}  // namespace

int TestProgram(const std::vector<std::string>& arguments) {
  std::vector<std::string> settings(arguments.begin() + 1, arguments.end());
  const bool json = std::erase(settings, "--json") > 0, quiet = std::erase(settings, "--quiet") > 0;
  TrialRun run(fs::absolute(arguments[0]).lexically_normal());
  absl::Status status = ProgramProcess::Block();
  if (status.ok()) status = run.Open(settings);
  if (!status.ok()) {
    std::fprintf(stderr, "inlier: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  // The program's output goes where ours does not.
  const int answer = ::dup(STDOUT_FILENO);
  const Descriptor nowhere(quiet ? ::open("/dev/null", O_WRONLY | O_CLOEXEC) : -1);
  if (quiet) ::dup2(nowhere.fd(), STDERR_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  run.Run();
  std::string text;
  if (json) {
    text = nlohmann::ordered_json({{"wrong", run.wrong()}, {"notes", run.notes()}}).dump() + "\n";
  } else {
    for (const std::string& wrong : run.wrong()) absl::StrAppend(&text, "wrong: ", wrong, "\n");
    for (const std::string& note : run.notes()) absl::StrAppend(&text, "note: ", note, "\n");
    if (run.wrong().empty() && !quiet) absl::StrAppend(&text, arguments[0], " does what the protocol asks\n");
  }
  [[maybe_unused]] const bool written = WriteAll(answer, text);
  return run.wrong().empty() ? 0 : 1;
}

}  // namespace inlier
