#include "coordinator/store/trial_writer.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <variant>

namespace inlier {

const std::string& StoredState(v1::TrialState state) {
  return v1::TrialState_Name(state == v1::RUNNING ? v1::PENDING : state);
}

TrialWriter::TrialWriter(SQLite::Database& database)
    : database_(database),
      stages_(database, "stage (id, kind, fingerprint, train_stage, spec_trial, steps)"),
      trials_(database, "trial (id, sweep, point, train_stage, evaluate_stage, state, message)"),
      specs_(database,
             "trial_spec (trial, labels, spec, model, attention, data, training, quantization, evaluation, "
             "packed)"),
      parts_(database, "spec_part (json)") {}

void TrialWriter::Write(std::span<const Change> run) {
  new_stages_.clear();
  new_trials_.clear();
  for (const Change& change : run) {
    if (const auto* stage = std::get_if<NewStage>(&change)) {
      new_stages_.push_back(stage);
    } else {
      new_trials_.push_back(SpecRowOf(std::get<NewTrial>(change)));
    }
  }
  stages_.Insert(std::span(new_stages_), [](const NewStage* stage, RowValues& values) {
    values.Integer(stage->id).Text(v1::StageKind_Name(stage->kind)).Text(stage->fingerprint);
    values.Integer(stage->train_stage).Integer(stage->spec_of).Integer(stage->steps);
  });
  trials_.Insert(std::span(new_trials_), [](const TrialSpecRow& row, RowValues& values) {
    const NewTrial& trial = *row.trial;
    values.Integer(trial.id).Integer(trial.sweep).Integer(trial.point).Integer(trial.train_stage);
    values.Integer(trial.evaluate_stage).Text(StoredState(trial.state)).Text(trial.message);
  });
  specs_.Insert(std::span(new_trials_), [](const TrialSpecRow& row, RowValues& values) {
    values.Integer(row.trial->id).Text(row.trial->labels_json).Text(row.rest);
    for (const std::optional<std::int64_t>& group : row.groups) values.Integer(group);
    if (row.packed.empty()) {
      values.Null();
    } else {
      values.Bytes(row.packed);
    }
  });
}

TrialWriter::TrialSpecRow TrialWriter::SpecRowOf(const NewTrial& trial) {
  const SpecParts parts = SplitSpec(trial.spec_json);
  TrialSpecRow row{
      .trial = &trial, .rest = parts.rest, .packed = PackedRest(trial.spec_packed), .groups = {}};
  for (std::size_t i = 0; i < row.groups.size(); ++i) {
    if (!parts.groups[i].empty()) row.groups[i] = PartId(parts.groups[i]);
    if (i < trial.spec_groups.size() && trial.spec_groups[i] != nullptr)
      row.groups[i] = PartId(i, trial.spec_groups[i]);
  }
  return row;
}

std::int64_t TrialWriter::PartId(std::size_t group, const std::shared_ptr<const std::string>& json) {
  LastPart& last = last_parts_[group];
  if (last.json != json) last = {json, PartId(*json)};
  return last.id;
}

std::int64_t TrialWriter::PartId(std::string_view json) {
  if (const auto known = part_ids_.find(json); known != part_ids_.end()) return known->second;
  if (part_ids_.size() >= kPartsKept) part_ids_.clear();
  parts_.Insert(std::span(&json, 1), [](std::string_view text, RowValues& values) { values.Text(text); });
  const std::int64_t id = database_.getLastInsertRowid();
  part_ids_.emplace(std::string(json), id);
  return id;
}

}  // namespace inlier
