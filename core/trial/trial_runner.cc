#include "core/trial/trial_runner.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "core/gang/gang.h"
#include "core/models/make_model.h"
#include "core/optim/make_optimizer.h"
#include "core/train/checkpoint.h"
#include "core/train/engine.h"
#include "core/train/measurement_reporter.h"
#include "core/train/trainer.h"
#include "core/trial/data_digest.h"
#include "core/trial/failure.h"
#include "core/trial/preparation.h"
#include "core/trial/progress_log.h"
#include "core/trial/runtime.h"
#include "core/trial/start_from.h"
#include "spec/schema/yaml_reader.h"
#include "spec/trial/outcome.h"
#include "spec/trial/update_split.h"

namespace inlier {
namespace {

using StopRequested = std::function<bool()>;

// How long the first rank waits for the last one, which may be reading its data.
constexpr Duration kMeetingPatience = std::chrono::minutes(30);

// Of the checkpoint that the attempt is to resume from; 0 without one, or where it cannot be read.
std::uint64_t ResumedStep(const v1::AttemptSpec& attempt) {
  if (attempt.resume_from().empty()) return 0;
  const absl::StatusOr<Checkpoint> checkpoint = Checkpoint::Open(attempt.resume_from());
  return checkpoint.ok() ? checkpoint->info().step : 0;
}

// The place of the attempt's process, checked. A gang of one is no gang.
absl::StatusOr<Gang::Place> PlaceOf(const v1::AttemptSpec& attempt, const v1::TrainingSpec& training) {
  const v1::GangPlace& gang = attempt.gang();
  Gang::Place place{.rank = static_cast<int>(gang.rank()),
                    .processes = std::max(1, static_cast<int>(gang.processes())),
                    .meeting = gang.meeting()};
  if (gang.has_address()) place.address = gang.address();
  if (place.rank < 0 || place.rank >= place.processes) {
    return absl::InvalidArgumentError(absl::StrCat("attempt: gang.rank is ", gang.rank(),
                                                   " and gang.processes ", gang.processes(),
                                                   "; ranks are counted from 0"));
  }
  if (place.processes > 1 && place.meeting.empty()) {
    return absl::InvalidArgumentError(
        "attempt: gang.meeting is not given; the path of a new file, the same for every rank");
  }
  RETURN_IF_ERROR(SplitUpdate(training, static_cast<std::uint64_t>(place.rank),
                              static_cast<std::uint64_t>(place.processes))
                      .status());
  return place;
}

ModelOrigin OriginOf(const Prepared& prepared, std::string scripts) {
  return {.start_digest = prepared.start_digest,
          .vocabulary = VocabularyDigestOf(*prepared.data.dataset),
          .scripts = std::move(scripts),
          .classes = ClassNamesOf(*prepared.data.dataset)};
}

void LogEngine(const Prepared& prepared) {
  const EngineChoice engine =
      ChooseEngine(prepared.spec.training(), *prepared.data.model, prepared.device.type());
  if (!engine.reason.empty()) spdlog::info("engine=REFERENCE reason=\"{}\"", engine.reason);
  if (!engine.warning.empty()) spdlog::warn("{}", engine.warning);
}

absl::StatusOr<v1::Outcome> RunTraining(const v1::AttemptSpec& attempt, EventWriter& events,
                                        const StopRequested& stop_requested, StopRequest& stop) {
  if (attempt.gang().rank() > 0) events.WriteOutcomeAlone();
  ASSIGN_OR_RETURN(const Prepared prepared, Prepare(attempt, events));
  ASSIGN_OR_RETURN(const Gang::Place place, PlaceOf(attempt, prepared.spec.training()));
  RETURN_IF_ERROR(CheckOptimizer(prepared.spec.training().optimizer(), ParametersOf(*prepared.data.model)));
  InitialiseWeights(*prepared.data.model, prepared.spec, prepared.spec.seed());
  if (attempt.resume_from().empty()) RETURN_IF_ERROR(StartFrom(attempt, prepared));
  ASSIGN_OR_RETURN(std::string scripts, ScriptDigests(prepared.spec, FoldersOf(attempt)));
  RETURN_IF_ERROR(CheckUnchanged(attempt, prepared, events));
  prepared.data.model->to(prepared.device);
  LogEngine(prepared);
  // The data are open: from here on the ranks do the same things at about the same time.
  ASSIGN_OR_RETURN(Gang gang, Gang::Meet(place, kMeetingPatience));
  Trainer trainer(prepared.spec, *prepared.data.model, *prepared.data.dataset, prepared.device, events,
                  OriginOf(prepared, std::move(scripts)),
                  {.gang = std::move(gang), .shard_optimizer = attempt.gang().shard_optimizer()});
  // Before the checkpoint is compared with the data: where they differ, the coordinator is to know why.
  ReportStarted(prepared, ResumedStep(attempt), events, static_cast<std::uint32_t>(place.processes));
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
      if (!result.message.empty()) events.Log(result.message);
      if (const std::uint64_t peak = PeakGpuMemoryMib(); peak > 0) {
        MeasurementReporter(ReportKind::kResult, result.step, events)
            .Add("peak_gpu_memory_mib", static_cast<double>(peak));
      }
      return Succeeded();
    case TrainResult::End::kDiverged:
      return Diverged(result.message);
    case TrainResult::End::kStopped:
      return FailedOutcome(v1::PREEMPTED, result.message);
  }
  return absl::InternalError("unknown end of training");
}

}  // namespace

v1::Outcome RunAttempt(const v1::AttemptSpec& attempt, EventWriter& events, StopRequest& stop,
                       EvaluationSession& session) {
  const Timestamp began = MonotonicNow();
  const StopRequested requested = [&events, &stop] { return events.broken() || stop.asked(); };
  v1::Outcome outcome = CatchFailures([&] {
    absl::StatusOr<v1::Outcome> result = attempt.kind() == v1::EVALUATE_STAGE
                                             ? session.Run(attempt, events, requested)
                                             : RunTraining(attempt, events, requested, stop);
    return result.ok() ? *std::move(result) : FailedWith(result.status());
  });
  if (const std::uint64_t peak = PeakGpuMemoryMib(); peak > 0) outcome.set_peak_gpu_memory_mib(peak);
  if (outcome.has_message())
    spdlog::info("attempt_ended outcome={} message={}",
                 outcome.failure() == v1::PREEMPTED ? v1::FailureClass_Name(outcome.failure())
                                                    : v1::Outcome::Kind_Name(outcome.kind()),
                 outcome.message());
  events.Log(EndedLine(outcome, MonotonicNow() - began));
  events.OnOutcome(outcome);
  return outcome;
}

}  // namespace inlier
