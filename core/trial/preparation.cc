#include "core/trial/preparation.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/data/data_roots.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/version.h"
#include "core/models/make_model.h"
#include "core/train/checkpoint.h"
#include "core/trial/data_digest.h"
#include "core/trial/progress_log.h"
#include "core/trial/runtime.h"
#include "core/trial/saved_model.h"
#include "spec/trial/file_fields.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

absl::Status RequireFields(const v1::AttemptSpec& attempt) {
  const auto missing = [](const char* field, const char* what) {
    return absl::InvalidArgumentError(absl::StrCat("attempt: ", field, " is not given; ", what));
  };
  if (!attempt.has_kind()) return missing("kind", "TRAIN_STAGE or EVALUATE_STAGE");
  if (!attempt.has_spec()) return missing("spec", "the TrialSpec to run");
  if (attempt.output_dir().empty()) return missing("output_dir", "the folder for checkpoints");
  if (attempt.cache_dir().empty()) return missing("cache_dir", "the folder for vocabularies and token files");
  if (attempt.kind() == v1::EVALUATE_STAGE && attempt.checkpoint().empty()) {
    return missing("checkpoint", "the file of the trained model");
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

// Of training.start_from: of its files, or, where the training has started with them, as the checkpoint has it. The
// files may be others since, or gone.
absl::StatusOr<std::string> StartDigestOf(const v1::AttemptSpec& attempt, const v1::TrialSpec& spec,
                                          const TextOpenOptions& folders) {
  if (!spec.training().has_start_from()) return std::string();
  const std::string& saved =
      attempt.kind() == v1::EVALUATE_STAGE ? attempt.checkpoint() : attempt.resume_from();
  if (!saved.empty()) {
    const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(saved);
    if (checkpoint.ok()) return checkpoint->info().origin.start_digest;
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

// The spec whose files decide the digest of the data. The model that a program saved has files that no sweep names.
const v1::TrialSpec& NamingSpec(const v1::AttemptSpec& attempt, const v1::TrialSpec& resolved) {
  return attempt.spec().has_program() ? attempt.spec() : resolved;
}

}  // namespace

absl::Status AsDataLoss(const absl::Status& status, const char* remedy) {
  return absl::DataLossError(absl::StrCat(std::string(status.message()), "; ", remedy));
}

absl::StatusOr<Prepared> PrepareSpec(const v1::AttemptSpec& attempt, EventWriter& events) {
  RETURN_IF_ERROR(RequireFields(attempt));
  // A worker has compared it; without a token this is a user's own attempt.
  if (!attempt.has_token()) RETURN_IF_ERROR(CheckNamedContent(attempt.checkpoint()));
  std::filesystem::path saved_model;
  if (attempt.spec().has_program()) {
    ASSIGN_OR_RETURN(saved_model, UnpackSavedModel(attempt));
  }
  ASSIGN_OR_RETURN(v1::TrialSpec spec, saved_model.empty() ? ResolveAndValidate(attempt.spec())
                                                           : SpecOfSavedModel(attempt.spec(), saved_model));
  const v1::TrialSpec& naming = NamingSpec(attempt, spec);
  const DataRoots roots = RootsOf(attempt);
  RETURN_IF_ERROR(CheckFilePaths(naming, [&roots](const std::string& path) { return roots.Check(path); }));
  ASSIGN_OR_RETURN(const c10::Device device, ParseDevice(attempt.has_device() ? attempt.device() : "cpu"));
  RETURN_IF_ERROR(MakeFolder(attempt.output_dir()));
  RETURN_IF_ERROR(MakeFolder(attempt.cache_dir()));
  const TextOpenOptions options = DataOptions(attempt, events);
  ASSIGN_OR_RETURN(std::string start_digest, StartDigestOf(attempt, spec, options));
  ASSIGN_OR_RETURN(std::string data_digest, DataDigestOf(naming, start_digest, options));
  return Prepared{std::move(spec),       device, TrialData(), std::move(start_digest), std::move(data_digest),
                  std::move(saved_model)};
}

absl::Status OpenData(const v1::AttemptSpec& attempt, EventWriter& events, Prepared& prepared) {
  ASSIGN_OR_RETURN(prepared.data, OpenTrialData(prepared.spec, DataOptions(attempt, events),
                                                attempt.kind() == v1::EVALUATE_STAGE));
  return absl::OkStatus();
}

absl::StatusOr<Prepared> Prepare(const v1::AttemptSpec& attempt, EventWriter& events) {
  ASSIGN_OR_RETURN(Prepared prepared, PrepareSpec(attempt, events));
  RETURN_IF_ERROR(OpenData(attempt, events, prepared));
  return prepared;
}

absl::Status CheckUnchanged(const v1::AttemptSpec& attempt, const Prepared& prepared, EventWriter& events) {
  const TextOpenOptions options = DataOptions(attempt, events);
  std::string start = prepared.start_digest;
  if (!prepared.spec.training().start_from().has_training()) {
    ASSIGN_OR_RETURN(start, StartDigestOf(attempt, prepared.spec, options));
  }
  ASSIGN_OR_RETURN(const std::string now, DataDigestOf(NamingSpec(attempt, prepared.spec), start, options));
  if (now == prepared.data_digest) return absl::OkStatus();
  return absl::UnavailableError("the data changed while they were read; the trial is tried again");
}

void ReportStarted(const Prepared& prepared, std::uint64_t resumed_step, EventWriter& events,
                   std::uint32_t processes) {
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
  if (processes > 1) started.set_processes(processes);
  started.set_parameters(static_cast<std::uint64_t>(CountParameters(*prepared.data.model)));
  events.OnStarted(started);
  events.Log(StartedLine(started));
}

}  // namespace inlier
