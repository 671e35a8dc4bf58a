#include "coordinator/store/trial_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <variant>

namespace inlier {

const std::string& StoredState(v1::TrialState state) {
  return v1::TrialState_Name(state == v1::RUNNING ? v1::PENDING : state);
}

TrialWriter::TrialWriter(SQLite::Database& database)
    : stages_(database, "stage (id, kind, fingerprint, train_stage, spec, steps)"),
      trials_(database,
              "trial (id, sweep, point, train_stage, evaluate_stage, state, message, labels, spec)") {}

void TrialWriter::Write(std::span<const Change> run) {
  new_stages_.clear();
  new_trials_.clear();
  for (const Change& change : run) {
    if (const auto* stage = std::get_if<StageRow>(&change)) {
      new_stages_.push_back(stage);
    } else {
      new_trials_.push_back(&std::get<TrialRow>(change));
    }
  }
  stages_.Insert(std::span(new_stages_), [](const StageRow* stage, RowValues& values) {
    values.Integer(stage->id).Text(v1::StageKind_Name(stage->kind)).CopiedText(HexOf(stage->fingerprint));
    values.IntegerOrNull(stage->train_stage).Text(stage->spec_json).Integer(stage->steps);
  });
  trials_.Insert(std::span(new_trials_), [](const TrialRow* trial, RowValues& values) {
    values.Integer(trial->id).Integer(trial->sweep).Integer(trial->point);
    values.IntegerOrNull(trial->train_stage).IntegerOrNull(trial->evaluate_stage);
    values.Text(StoredState(trial->state)).Text(trial->message);
    values.Text(trial->labels_json);
    if (trial->spec_json.empty()) {
      values.Null();
    } else {
      values.Text(trial->spec_json);
    }
  });
}

}  // namespace inlier
