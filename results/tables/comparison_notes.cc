#include "results/tables/comparison_notes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "results/tables/trial_values.h"
#include "spec/sweep/label_groups.h"

namespace inlier {
namespace {

std::string BaselineName(const v1::Table& table) {
  const std::string labels = JoinLabels(table.baseline(), " ");
  return labels.empty() ? "the baseline" : labels;
}

// Why rows have no baseline, and what would give them one.
std::string Remedy(const v1::TableSpec& spec, const v1::Table& table) {
  const std::string name = BaselineName(table);
  std::vector<const v1::TableRow*> baselines;  // Of any group.
  for (const v1::TableRow& row : table.rows()) {
    if (IsBaseline(spec, row)) baselines.push_back(&row);
  }
  if (baselines.empty()) return absl::StrCat("the table has no row ", name, "; does `where` leave it out?");
  std::vector<std::string> others, lacking;
  for (int axis = 0; axis < spec.rows_size(); ++axis) {
    if (spec.baseline().contains(spec.rows(axis))) continue;
    others.push_back(spec.rows(axis));
    if (std::ranges::all_of(baselines, [&](const v1::TableRow* row) { return row->labels(axis).empty(); }))
      lacking.push_back(spec.rows(axis));
  }
  std::string text = absl::StrCat("no row ", name, " has their ", absl::StrJoin(others, " and "));
  if (lacking.empty()) return text;
  return absl::StrCat(text, "; ", name, " has no ", absl::StrJoin(lacking, " and no "),
                      ": name that in the baseline, too, without a label (", lacking.front(), ": null)");
}

constexpr char kArchitecture[] = "architecture", kSmoothing[] = "smoothing_alpha";
constexpr char kEngine[] = "engine", kBias[] = "key_value_bias", kKurtosis[] = "kurtosis_penalty",
               kSoftmaxScript[] = "softmax_script", kGateScript[] = "gate_script";

// The columns for which a trial is trained by REFERENCE.
std::vector<std::string> ReferenceColumns(const TrialValues& trial) {
  std::vector<std::string> found;
  for (const auto& [name, value] : trial.columns) {
    const std::string text = SqlText(value);
    if ((name == kEngine && text == "REFERENCE") || (name == kBias && text == "1") ||
        ((name == kKurtosis || name == kSoftmaxScript || name == kGateScript) && !text.empty()))
      found.push_back(name);
  }
  return found;
}

void AddEngineNote(const std::vector<const TrialValues*>& trials, v1::Table& table) {
  std::set<std::string> columns;
  bool fused = false;
  for (const TrialValues* trial : trials) {
    const std::vector<std::string> of_trial = ReferenceColumns(*trial);
    columns.insert(of_trial.begin(), of_trial.end());
    fused = fused || of_trial.empty();
  }
  if (columns.empty() || !fused) return;
  table.add_comparison_notes(absl::StrCat(
      "trained by two engines, which round in another order: REFERENCE those with ",
      absl::StrJoin(columns, ", "), ", FUSED the others; training.engine: REFERENCE in base gives one"));
}

}  // namespace

bool IsBaseline(const v1::TableSpec& spec, const v1::TableRow& row) {
  for (int axis = 0; axis < spec.rows_size(); ++axis) {
    const auto wanted = spec.baseline().find(spec.rows(axis));
    if (wanted != spec.baseline().end() && !LabelMatches(row.labels(axis), wanted->second)) return false;
  }
  return !spec.baseline().empty();
}

void AddComparisonNotes(const v1::TableSpec& spec, v1::Table& table) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> alone;  // Rows.
  for (const v1::TableRow& row : table.rows()) {
    if (!row.has_baseline_row()) alone.push_back(JoinLabels(row.labels(), " "));
  }
  if (!alone.empty()) {
    const std::size_t more = alone.size() - std::min(alone.size(), kNamed);
    alone.resize(std::min(alone.size(), kNamed));
    table.add_comparison_notes(
        absl::StrCat("not compared with ", BaselineName(table), ": ", absl::StrJoin(alone, ", "),
                     more > 0 ? absl::StrCat(" and ", more, more > 1 ? " rows" : " row", " more") : "", ": ",
                     Remedy(spec, table)));
  }
  for (int column = 0; column < table.column_headings_size(); ++column) {
    int unpaired = 0;
    for (const v1::TableRow& row : table.rows()) {
      if (row.cells(column).has_pairs() && row.cells(column).pairs() == 0) ++unpaired;
    }
    if (unpaired == 0) continue;
    table.add_comparison_notes(absl::StrCat(
        table.column_headings(column), ": ", unpaired, unpaired > 1 ? " cells have" : " cell has",
        " no seed in common with ", BaselineName(table), ": not paired, a difference of means alone"));
  }
}

std::set<std::string> NoteColumns(const std::vector<v1::SweepSpec>& sweeps) {
  std::set<std::string> columns;
  for (const v1::SweepSpec& sweep : sweeps) {
    const std::string text = sweep.ShortDebugString();
    for (const char* word : {"REFERENCE", kBias, "kurtosis", "script"})
      if (absl::StrContains(text, word))
        columns.insert({kEngine, kBias, kKurtosis, kSoftmaxScript, kGateScript});
    if (absl::StrContains(text, "smoothing")) columns.insert({kArchitecture, kSmoothing});
  }
  return columns;
}

void AddTrialNotes(const std::vector<const TrialValues*>& trials, v1::Table& table) {
  AddEngineNote(trials, table);
  const bool not_deployable = std::ranges::any_of(trials, [](const TrialValues* trial) {
    const auto of = [trial](const char* name) {
      const auto found = trial->columns.find(name);
      return found == trial->columns.end() ? std::string() : SqlText(found->second);
    };
    return of(kArchitecture) == "bert" && !of(kSmoothing).empty();
  });
  if (!not_deployable) return;
  table.add_comparison_notes(
      "quantization.smoothing of model.bert is not deployable: its norms feed the residual stream too, so "
      "that the factors "
      "cannot go into them, and would be a division in every layer");
}

}  // namespace inlier
