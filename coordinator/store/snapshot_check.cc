#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "coordinator/store/snapshot.h"
#include "spec/schema/limits.h"

namespace inlier {
namespace {

// A counter can still pass it.
constexpr std::uint64_t kIdMax = std::numeric_limits<std::int64_t>::max() / 2;

template <typename Record>
absl::Status CheckIds(const std::vector<Record>& records) {
  decltype(Record::id) next(1);
  for (const Record& record : records) {
    if (record.id != next) return Damaged(next.ToString(), " is missing: the next is ", record.id.ToString());
    next = decltype(Record::id)(next.value() + 1);
  }
  return absl::OkStatus();
}

// REQUIRES: CheckIds is OK.
template <typename Record, typename Id>
const Record* Find(const std::vector<Record>& records, Id id) {
  const auto index = static_cast<std::uint64_t>(id.value()) - 1;
  return index < records.size() ? &records[index] : nullptr;
}

// DataLoss "<what><id>, which is not there" when no record has the id.
template <typename Record, typename Id, typename... What>
absl::Status CheckThere(const std::vector<Record>& records, Id id, const What&... what) {
  if (Find(records, id) != nullptr) return absl::OkStatus();
  return Damaged(what..., id.ToString(), ", which is not there");
}

absl::Status CheckStages(const Snapshot& snapshot) {
  for (const StageRow& stage : snapshot.stages) {
    const bool has_train = static_cast<bool>(stage.train_stage);
    if (!stage.spec_json.empty() && !(stage.spec_json.starts_with('{') && stage.spec_json.ends_with('}')))
      return Damaged(stage.id.ToString(), " has a specification that is not a JSON object");
    if ((stage.kind == v1::EVALUATE_STAGE) != has_train) {
      return Damaged(stage.id.ToString(), " names a train stage or lacks one against its kind");
    }
    if (stage.start_stage) {
      const StageRow* start = Find(snapshot.stages, stage.start_stage);
      if (has_train || start == nullptr || start->kind != v1::TRAIN_STAGE ||
          start->id.value() >= stage.id.value()) {
        return Damaged(stage.id.ToString(), " starts from ", stage.start_stage.ToString(),
                       ", which is not a training before it");
      }
    }
    if ((!has_train || stage.data) && Find(snapshot.data, stage.data) == nullptr)
      return Damaged(stage.id.ToString(), " names data that are not there");
    if (!has_train) continue;
    const StageRow* train = Find(snapshot.stages, stage.train_stage);
    if (train == nullptr || train->kind != v1::TRAIN_STAGE || stage.id.value() <= train->id.value()) {
      return Damaged(stage.id.ToString(), " has the train stage ", stage.train_stage.ToString(),
                     ", which is not a training before it");
    }
  }
  return absl::OkStatus();
}

// `open` gets, for each stage, whether a trial that has not ended needs it.
absl::Status CheckTrials(const Snapshot& snapshot, std::vector<bool>& open) {
  open.assign(snapshot.stages.size(), false);
  const auto need = [&](const StageRow* stage) {
    if (stage->state != v1::SUCCEEDED) open[static_cast<std::size_t>(stage - snapshot.stages.data())] = true;
  };
  for (const TrialRow& trial : snapshot.trials) {
    if (Find(snapshot.sweeps, trial.sweep) == nullptr) {
      return Damaged(trial.id.ToString(), " belongs to ", trial.sweep.ToString(), ", which is not there");
    }
    const bool has_stages = static_cast<bool>(trial.train_stage);
    if (has_stages != static_cast<bool>(trial.evaluate_stage) || (!has_stages && trial.state != v1::FAILED))
      return Damaged(trial.id.ToString(), " lacks a stage");
    if (!has_stages) continue;
    const StageRow* train = Find(snapshot.stages, trial.train_stage);
    const StageRow* evaluate = Find(snapshot.stages, trial.evaluate_stage);
    if (train == nullptr || evaluate == nullptr || train->kind != v1::TRAIN_STAGE ||
        evaluate->train_stage != trial.train_stage) {
      return Damaged(trial.id.ToString(), " has stages that are not there or do not belong together");
    }
    if (IsTerminal(trial.state)) continue;
    need(evaluate);
    need(train);
    while (train->state != v1::SUCCEEDED && train->start_stage) {
      train = Find(snapshot.stages, train->start_stage);
      need(train);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttempts(const Snapshot& snapshot, const std::vector<bool>& needed) {
  if (snapshot.next_token == 0 || snapshot.next_token > kIdMax)
    return Damaged("the next token is ", snapshot.next_token);
  std::vector<bool> live(snapshot.stages.size(), false);
  Token before = 0;
  for (const AttemptRow& attempt : snapshot.live_attempts) {
    const StageRow* stage = Find(snapshot.stages, attempt.stage);
    const auto at = static_cast<std::size_t>(stage - snapshot.stages.data());
    if (stage == nullptr || stage->state != v1::RUNNING || !needed[at] || live[at] ||
        attempt.token <= before || attempt.token >= snapshot.next_token) {
      return Damaged("attempt ", attempt.token, " is live although ", attempt.stage.ToString(),
                     " is not running for a trial, or has another");
    }
    RETURN_IF_ERROR(CheckThere(snapshot.sweeps, attempt.sweep, "attempt ", attempt.token, " is charged to "));
    if (const StageId needed_stage = stage->train_stage ? stage->train_stage : stage->start_stage) {
      const StageRow* train = Find(snapshot.stages, needed_stage);
      if (train == nullptr || train->state != v1::SUCCEEDED) {
        return Damaged("attempt ", attempt.token, " is live although the training ", needed_stage.ToString(),
                       ", which ", attempt.stage.ToString(), " needs, has not succeeded");
      }
    }
    if (!attempt.final_checkpoint.empty() && !IsSha256Hex(attempt.final_checkpoint))
      return Damaged("the final checkpoint of attempt ", attempt.token, " has no SHA-256");
    live[at] = true;
    before = attempt.token;
  }
  for (const CheckpointRow& checkpoint : snapshot.checkpoints)
    RETURN_IF_ERROR(CheckThere(snapshot.stages, checkpoint.stage, "a checkpoint belongs to "));
  return absl::OkStatus();
}

// The names of files come once without a digest, then with those that workers found.
absl::Status CheckData(const Snapshot& snapshot) {
  std::set<std::string_view> names;
  for (const DataRow& data : snapshot.data) {
    if (data.digest ? !names.contains(data.names) : !names.insert(data.names).second)
      return Damaged("the names of files of ", data.id.ToString(), " are there twice, or not at all");
  }
  return absl::OkStatus();
}

absl::Status CheckSearchPoints(const Snapshot& snapshot) {
  const SearchPointRow* before = nullptr;
  for (const SearchPointRow& point : snapshot.search_points) {
    RETURN_IF_ERROR(CheckThere(snapshot.sweeps, point.sweep, "a point that was asked for is of "));
    const std::uint32_t number = before != nullptr && before->sweep == point.sweep ? before->number + 1 : 0;
    if (point.number != number)
      return Damaged("point ", number, " that was asked for sweep ", point.sweep.ToString(), " is missing");
    before = &point;
  }
  return absl::OkStatus();
}

absl::Status CheckPruning(const Snapshot& snapshot) {
  for (const TrialPruning& pruning : snapshot.trial_prunings)
    RETURN_IF_ERROR(CheckThere(snapshot.trials, pruning.id, "a pruning is of "));
  for (const PruningDecision& decision : snapshot.pruning_decisions)
    RETURN_IF_ERROR(CheckThere(snapshot.sweeps, decision.sweep, "a pruning decision is of "));
  return absl::OkStatus();
}

absl::Status CheckRequests(const Snapshot& snapshot) {
  std::uint64_t before = 0;
  std::set<std::string_view> ids;
  for (const RequestRow& request : snapshot.requests) {
    if (request.number <= before || request.number > kIdMax || !ids.insert(request.id).second)
      return Damaged("request ", request.number, " is there twice or has no number");
    before = request.number;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSnapshot(const Snapshot& snapshot) {
  RETURN_IF_ERROR(CheckIds(snapshot.sweeps));
  RETURN_IF_ERROR(CheckIds(snapshot.data));
  RETURN_IF_ERROR(CheckIds(snapshot.stages));
  RETURN_IF_ERROR(CheckIds(snapshot.trials));
  RETURN_IF_ERROR(CheckData(snapshot));
  RETURN_IF_ERROR(CheckStages(snapshot));
  std::vector<bool> needed;
  RETURN_IF_ERROR(CheckTrials(snapshot, needed));
  RETURN_IF_ERROR(CheckAttempts(snapshot, needed));
  RETURN_IF_ERROR(CheckSearchPoints(snapshot));
  RETURN_IF_ERROR(CheckPruning(snapshot));
  RETURN_IF_ERROR(CheckRequests(snapshot));
  for (const WorkerRow& worker : snapshot.workers) {
    if (worker.slots > Limits::kSlotsMax)
      return Damaged("worker ", worker.incarnation, " has ", worker.slots, " slots");
  }
  return absl::OkStatus();
}

}  // namespace inlier
