#include "core/trial/evaluation_session.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/train/checkpoint.h"
#include "core/train/evaluator.h"
#include "core/trial/data_digest.h"
#include "core/trial/failure.h"
#include "core/trial/preparation.h"
#include "core/trial/saved_model.h"

namespace inlier {
namespace {

// Equal where an evaluation can use all that another one has read.
std::string KeyOf(const v1::AttemptSpec& attempt, const Prepared& prepared) {
  v1::AttemptSpec shared = attempt;
  shared.clear_stage_id();
  shared.clear_token();
  shared.clear_output_dir();
  if (!attempt.spec().has_program()) *shared.mutable_spec() = prepared.spec;
  shared.mutable_spec()->clear_quantization();
  shared.mutable_spec()->mutable_evaluation()->clear_sensitivity_batches();
  shared.mutable_spec()->mutable_evaluation()->clear_intervention();
  shared.mutable_spec()->mutable_evaluation()->clear_measure();
  return absl::StrCat(prepared.data_digest, " ", prepared.start_digest, " ", shared.SerializeAsString());
}

// Sets the weights of the trained model; returns its step, 0 where only its program knows it.
absl::StatusOr<std::uint64_t> LoadModel(const v1::AttemptSpec& attempt, EventWriter& events,
                                        const Prepared& prepared) {
  if (attempt.spec().has_program()) {
    RETURN_IF_ERROR(CheckUnchanged(attempt, prepared, events));
    ReportStarted(prepared, 0, events);
    RETURN_IF_ERROR(LoadSavedModel(prepared.saved_model, prepared));
    return 0;
  }
  absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(attempt.checkpoint());
  if (!checkpoint.ok())
    return AsDataLoss(checkpoint.status(), "train the model again or give another checkpoint");
  RETURN_IF_ERROR(CheckUnchanged(attempt, prepared, events));
  ReportStarted(prepared, 0, events);
  RETURN_IF_ERROR(checkpoint->CheckMatches(prepared.spec, prepared.data.dataset->dataset_digest()));
  RETURN_IF_ERROR(CheckSameScripts(prepared.spec, *checkpoint, FoldersOf(attempt)));
  RETURN_IF_ERROR(checkpoint->LoadWeights(*prepared.data.model));
  return checkpoint->info().step;
}

}  // namespace

struct EvaluationSession::Loaded {
  std::string key;
  Prepared prepared;
  std::uint64_t step = 0;  // Of the checkpoint.
};

EvaluationSession::EvaluationSession() = default;
EvaluationSession::~EvaluationSession() = default;

absl::StatusOr<std::unique_ptr<EvaluationSession::Loaded>> EvaluationSession::Load(
    const v1::AttemptSpec& attempt, EventWriter& events) {
  std::unique_ptr<Loaded> before = std::move(loaded_);
  const absl::Cleanup remove = [&attempt] {
    std::error_code ignored;
    if (attempt.spec().has_program()) std::filesystem::remove_all(SavedModelFolder(attempt), ignored);
  };
  ASSIGN_OR_RETURN(Prepared prepared, PrepareSpec(attempt, events));
  std::string key = KeyOf(attempt, prepared);
  if (before != nullptr && before->key == key) {
    before->prepared.spec = std::move(prepared.spec);
    ReportStarted(before->prepared, 0, events);
    return before;
  }
  before.reset();
  RETURN_IF_ERROR(OpenData(attempt, events, prepared));
  ASSIGN_OR_RETURN(const std::uint64_t step, LoadModel(attempt, events, prepared));
  prepared.data.model->to(prepared.device);
  return std::make_unique<Loaded>(std::move(key), std::move(prepared), step);
}

absl::StatusOr<v1::Outcome> EvaluationSession::Run(const v1::AttemptSpec& attempt, EventWriter& events,
                                                   const std::function<bool()>& stop_requested) {
  ASSIGN_OR_RETURN(std::unique_ptr<Loaded> loaded, Load(attempt, events));
  const Prepared& prepared = loaded->prepared;
  ASSIGN_OR_RETURN(const EvaluationResult result,
                   Evaluate(*prepared.data.model, prepared.data.evaluated(), prepared.spec, prepared.device,
                            events, stop_requested, prepared.data.questions));
  ReportEvaluation(result, prepared.data.baseline, loaded->step, events);
  loaded_ = std::move(loaded);
  if (!std::isfinite(result.scores.loss))
    return Diverged(absl::StrCat("the evaluation loss is ", result.scores.loss));
  return Succeeded();
}

}  // namespace inlier
