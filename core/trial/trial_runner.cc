#include "core/trial/trial_runner.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/data_roots.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "core/hugging_face/weights.h"
#include "core/models/make_model.h"
#include "core/optim/make_optimizer.h"
#include "core/train/checkpoint.h"
#include "core/train/engine.h"
#include "core/train/evaluator.h"
#include "core/train/trainer.h"
#include "core/trial/data_digest.h"
#include "core/trial/failure.h"
#include "core/trial/open_data.h"
#include "core/trial/progress_log.h"
#include "core/trial/read_json.h"
#include "core/trial/runtime.h"
#include "spec/schema/yaml_reader.h"
#include "spec/trial/file_fields.h"
#include "spec/trial/outcome.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

using StopRequested = std::function<bool()>;

// Shared state of both stages.
struct Prepared {
  v1::TrialSpec spec;
  c10::Device device;
  TrialData data;
  std::string start_digest;  // Of the model that the training starts, or started, from.
  std::string data_digest;   // Of its data before they were opened.
};

absl::Status RequireFields(const v1::AttemptSpec& attempt) {
  const auto missing = [](const char* field, const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("attempt: ", field, " is not given; ", what));
  };
  if (!attempt.has_kind()) return missing("kind", "TRAIN_STAGE or EVALUATE_STAGE");
  if (!attempt.has_spec()) return missing("spec", "the TrialSpec to run");
  if (attempt.output_dir().empty()) return missing("output_dir", "the folder for checkpoints");
  if (attempt.cache_dir().empty()) return missing("cache_dir", "the folder for vocabularies and token files");
  if (attempt.kind() == v1::EVALUATE_STAGE && attempt.checkpoint().empty()) {
    return missing("checkpoint", "the trained model, a .safetensors file");
  }
  const v1::StartFromSpec& start = attempt.spec().training().start_from();
  if (start.has_point() || start.has_trial()) {
    return absl::InvalidArgumentError(absl::StrCat("training.start_from.",
                                                   start.has_point() ? "point" : "trial",
                                                   ": only a coordinator knows that training; submit the "
                                                   "sweep to one (inlier run, inlier submit), or give "
                                                   "training.start_from.checkpoint"));
  }
  if (start.has_training() && attempt.checkpoint().empty() && attempt.resume_from().empty()) {
    return missing("checkpoint", "the model of training.start_from.training, a .safetensors file");
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("output_dir: cannot make the folder ", folder, ": ", error.message()));
}

TextOpenOptions DataOptions(const v1::AttemptSpec& attempt, EventWriter& events) {
  TextOpenOptions options = FoldersOf(attempt);
  options.threads = at::get_num_threads();
  const auto report = [&events](const char* phase, std::uint64_t step, std::uint64_t steps_total) {
    v1::Progress progress;
    progress.set_phase(phase);
    progress.set_step(step);
    progress.set_steps_total(steps_total);
    events.OnProgress(progress);
  };
  options.progress = [report](std::string_view, double fraction) {
    report("tokenize", static_cast<std::uint64_t>(std::lround(fraction * 100)), 100);  // Percent.
  };
  options.digest_progress = [report](std::uint64_t bytes, std::uint64_t bytes_total) {
    report("digest", bytes, bytes_total);
  };
  return options;
}

// A checkpoint that cannot be read is the machine's fault, not the spec's.
absl::Status AsDataLoss(const absl::Status& status, const char* remedy) {
  return absl::DataLossError(absl::StrCat(std::string(status.message()), "; ", remedy));
}
constexpr char kOtherModel[] = "train that model again, or start from another one";

// Of training.start_from: of its files, or, where the training has started with them, as the checkpoint has it. The
// files may be others since, or gone.
absl::StatusOr<std::string> StartDigestOf(const v1::AttemptSpec& attempt, const v1::TrialSpec& spec,
                                          const TextOpenOptions& folders) {
  if (!spec.training().has_start_from()) return std::string();
  const std::string& saved =
      attempt.kind() == v1::EVALUATE_STAGE ? attempt.checkpoint() : attempt.resume_from();
  if (!saved.empty()) {
    const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(saved);
    if (checkpoint.ok()) return checkpoint->info().start_digest;
  }
  if (spec.training().start_from().has_training() && !attempt.checkpoint().empty()) {
    absl::StatusOr<std::string> digest = Sha256HexOfFile(attempt.checkpoint());
    if (!digest.ok()) return AsDataLoss(digest.status(), kOtherModel);
    return digest;
  }
  return StartDigest(spec, folders);
}

// `start_digest`: StartDigestOf. A model of the coordinator is in the training's fingerprint, not in the data.
absl::StatusOr<std::string> DataDigestOf(const v1::TrialSpec& spec, const std::string& start_digest,
                                         const TextOpenOptions& folders) {
  const bool named_by_fingerprint = spec.training().start_from().has_training();
  return DataDigest(spec, named_by_fingerprint ? std::string() : start_digest, folders);
}

absl::StatusOr<Prepared> Prepare(const v1::AttemptSpec& attempt, EventWriter& events) {
  RETURN_IF_ERROR(RequireFields(attempt));
  ASSIGN_OR_RETURN(v1::TrialSpec spec, ResolveAndValidate(attempt.spec()));
  const DataRoots roots = RootsOf(attempt);
  RETURN_IF_ERROR(CheckFilePaths(spec, [&roots](const std::string& path) { return roots.Check(path); }));
  ASSIGN_OR_RETURN(const c10::Device device, ParseDevice(attempt.has_device() ? attempt.device() : "cpu"));
  RETURN_IF_ERROR(MakeFolder(attempt.output_dir()));
  RETURN_IF_ERROR(MakeFolder(attempt.cache_dir()));
  const TextOpenOptions options = DataOptions(attempt, events);
  ASSIGN_OR_RETURN(std::string start_digest, StartDigestOf(attempt, spec, options));
  ASSIGN_OR_RETURN(std::string data_digest, DataDigestOf(spec, start_digest, options));
  ASSIGN_OR_RETURN(TrialData data, OpenTrialData(spec, options, attempt.kind() == v1::EVALUATE_STAGE));
  return Prepared{std::move(spec), device, std::move(data), std::move(start_digest), std::move(data_digest)};
}

// OK when the files are still those whose digest is known: all of them have been read by now.
absl::Status CheckUnchanged(const v1::AttemptSpec& attempt, const Prepared& prepared, EventWriter& events) {
  const TextOpenOptions options = DataOptions(attempt, events);
  std::string start = prepared.start_digest;
  if (!prepared.spec.training().start_from().has_training()) {
    ASSIGN_OR_RETURN(start, StartDigestOf(attempt, prepared.spec, options));
  }
  ASSIGN_OR_RETURN(const std::string now, DataDigestOf(prepared.spec, start, options));
  if (now == prepared.data_digest) return absl::OkStatus();
  return absl::UnavailableError("the data changed while they were read; the trial is tried again");
}

void ReportStarted(const Prepared& prepared, std::uint64_t resumed_step, EventWriter& events) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  v1::Started started;
  started.set_pid(::getpid());
  started.set_build(BuildId());
  started.set_torch_version(TorchVersion());
  started.set_cuda_version(prepared.device.is_cuda() ? CudaVersion() : "");
  started.set_device(DeviceName(prepared.device));
  started.set_threads(static_cast<std::uint32_t>(at::get_num_threads()));
  started.set_host(host);
  started.set_resumed_step(static_cast<std::uint32_t>(resumed_step));
  started.set_dataset_digest(prepared.data_digest);
  started.set_parameters(static_cast<std::uint64_t>(CountParameters(*prepared.data.model)));
  events.OnStarted(started);
  events.Log(StartedLine(started));
}

// The trained weights that the trial starts from, over the initial ones.
absl::Status StartFrom(const v1::AttemptSpec& attempt, const v1::TrainingSpec& training, Model& model) {
  if (!training.has_start_from()) return absl::OkStatus();
  const v1::StartFromSpec& start = training.start_from();
  const bool ours = start.has_training();  // Its file is one of the worker's own.
  const std::string& source = ours                       ? attempt.checkpoint()
                              : start.has_hugging_face() ? start.hugging_face()
                                                         : start.checkpoint();
  const absl::StatusOr<std::vector<std::string>> fresh =
      LoadStartingWeights(source, model, ours ? DataRoots() : RootsOf(attempt));
  if (fresh.ok()) {
    spdlog::info("weights_loaded from={} fresh_parameters={}", source, fresh->size());
    return absl::OkStatus();
  }
  if (ours && (absl::IsNotFound(fresh.status()) || absl::IsDataLoss(fresh.status())))
    return AsDataLoss(fresh.status(), kOtherModel);
  // The trial names a file of the worker: no other attempt can succeed.
  return absl::InvalidArgumentError(
      absl::StrCat("training.start_from: ", std::string(fresh.status().message())));
}

// Of the checkpoint that the attempt is to resume from; 0 without one, or where it cannot be read.
std::uint64_t ResumedStep(const v1::AttemptSpec& attempt) {
  if (attempt.resume_from().empty()) return 0;
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(attempt.resume_from());
  return checkpoint.ok() ? checkpoint->info().step : 0;
}

void LogEngine(const Prepared& prepared) {
  const EngineChoice engine =
      ChooseEngine(prepared.spec.training(), *prepared.data.model, prepared.device.type());
  if (!engine.reason.empty()) spdlog::info("engine=REFERENCE reason=\"{}\"", engine.reason);
  if (!engine.warning.empty()) spdlog::warn("{}", engine.warning);
}

absl::StatusOr<v1::Outcome> RunTraining(const v1::AttemptSpec& attempt, EventWriter& events,
                                        const StopRequested& stop_requested, StopRequest& stop) {
  ASSIGN_OR_RETURN(const Prepared prepared, Prepare(attempt, events));
  RETURN_IF_ERROR(CheckOptimizer(prepared.spec.training().optimizer(), ParametersOf(*prepared.data.model)));
  InitialiseWeights(*prepared.data.model, prepared.spec, prepared.spec.seed());
  if (attempt.resume_from().empty())
    RETURN_IF_ERROR(StartFrom(attempt, prepared.spec.training(), *prepared.data.model));
  RETURN_IF_ERROR(CheckUnchanged(attempt, prepared, events));
  prepared.data.model->to(prepared.device);
  LogEngine(prepared);
  Trainer trainer(prepared.spec, *prepared.data.model, *prepared.data.dataset, prepared.device, events,
                  prepared.start_digest);
  // Before the checkpoint is compared with the data: where they differ, the coordinator is to know why.
  ReportStarted(prepared, ResumedStep(attempt), events);
  if (!attempt.resume_from().empty()) {
    const absl::Status resumed = trainer.Resume(attempt.resume_from());
    if (!resumed.ok()) {
      constexpr char kRemedy[] = "train from the beginning (without resume_from)";
      if (absl::IsNotFound(resumed) || absl::IsDataLoss(resumed)) return AsDataLoss(resumed, kRemedy);
      return absl::Status(resumed.code(),
                          absl::StrCat("resume_from: ", std::string(resumed.message()), "; ", kRemedy));
    }
  }
  const StopRequest::Saving saving(stop);
  ASSIGN_OR_RETURN(const TrainResult result, trainer.Run(attempt.output_dir(), stop_requested));
  switch (result.end) {
    case TrainResult::End::kFinished:
      return Succeeded();
    case TrainResult::End::kDiverged:
      return Diverged(result.message);
    case TrainResult::End::kStopped:
      return FailedOutcome(v1::PREEMPTED, result.message);
  }
  return absl::InternalError("unknown end of training");
}

absl::StatusOr<v1::Outcome> RunEvaluation(const v1::AttemptSpec& attempt, EventWriter& events,
                                          const StopRequested& stop_requested) {
  ASSIGN_OR_RETURN(const Prepared prepared, Prepare(attempt, events));
  absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(attempt.checkpoint());
  if (!checkpoint.ok())
    return AsDataLoss(checkpoint.status(), "train the model again or give another checkpoint");
  RETURN_IF_ERROR(CheckUnchanged(attempt, prepared, events));
  ReportStarted(prepared, 0, events);
  RETURN_IF_ERROR(checkpoint->CheckMatches(prepared.spec, prepared.data.dataset->dataset_digest()));
  RETURN_IF_ERROR(checkpoint->LoadWeights(*prepared.data.model));
  prepared.data.model->to(prepared.device);
  ASSIGN_OR_RETURN(const EvaluationResult result,
                   Evaluate(*prepared.data.model, prepared.data.evaluated(), prepared.spec, prepared.device,
                            events, stop_requested));
  ReportEvaluation(result, prepared.data.baseline, checkpoint->info().step, events);
  if (!std::isfinite(result.scores.loss))
    return Diverged(absl::StrCat("the evaluation loss is ", result.scores.loss));
  return Succeeded();
}

}  // namespace

absl::StatusOr<v1::AttemptSpec> ReadAttempt(const std::string& path) {
  return ReadJson<v1::AttemptSpec>(path);
}

v1::Outcome RunAttempt(const v1::AttemptSpec& attempt, EventWriter& events, StopRequest& stop) {
  const Timestamp began = MonotonicNow();
  const StopRequested requested = [&events, &stop] { return events.broken() || stop.asked(); };
  v1::Outcome outcome = CatchFailures([&attempt, &events, &requested, &stop] {
    absl::StatusOr<v1::Outcome> result = attempt.kind() == v1::EVALUATE_STAGE
                                             ? RunEvaluation(attempt, events, requested)
                                             : RunTraining(attempt, events, requested, stop);
    return result.ok() ? *std::move(result) : FailedWith(result.status());
  });
  if (const std::uint64_t peak = PeakGpuMemoryMib(); peak > 0) outcome.set_peak_gpu_memory_mib(peak);
  events.Log(EndedLine(outcome, MonotonicNow() - began));
  events.OnOutcome(outcome);
  return outcome;
}

}  // namespace inlier
