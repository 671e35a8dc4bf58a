// Runs of Weights & Biases: folders run-* and offline-run-*. Their log (*.wandb) has settings, results and curves; where it is not
// there, files/config.yaml and files/wandb-summary.json have the first two, and a history that was exported beside them, as lines
// of JSON or CSV, the third.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "cli/convert/yaml_values.h"
#include "cli/import/csv_table.h"
#include "cli/import/foreign_runs.h"
#include "cli/import/wandb_log.h"
#include "inlier/v1/foreign_files.pb.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kStep[] = "_step";

// Python writes NaN and Infinity as no JSON has them.
Json ParsedJson(const std::string& text) {
  Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  const std::optional<double> number = ForeignNumber(text);
  return number ? Json(*number) : value;
}

std::string KeyOf(const v1::WandbRecord::Item& item) {
  return item.has_key() ? item.key() : absl::StrJoin(item.nested_key(), ".");
}

// What W&B adds of its own: _runtime, _wandb.
bool IsOfWandb(const std::string& key) { return key.empty() || key[0] == '_' || key == "wandb_version"; }

class WandbRun {
 public:
  explicit WandbRun(const fs::path& folder) {
    run_.place = folder.string();
    run_.name = folder.filename().string();
  }

  absl::Status TakeRecord(std::string_view bytes, const std::string& place) {
    v1::WandbRecord record;
    if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return absl::InvalidArgumentError(absl::StrCat(place, ": the record is not one of Weights & Biases"));
    if (record.has_run()) {
      const v1::WandbRecord::Run& run = record.run();
      if (!run.run_id().empty()) run_.name = run.run_id();
      if (!run.display_name().empty()) run_.name = run.display_name();
      TakeSettings(run.config());
      TakeSummary(run.summary());
    }
    TakeSettings(record.config());
    TakeSummary(record.summary());
    if (record.has_exit()) {
      ended_ = true;
      run_.unfinished =
          record.exit().exit_code() == 0 ? "" : absl::StrCat("failed, exit code ", record.exit().exit_code());
    }
    if (record.has_history()) TakePoint(record.history());
    return absl::OkStatus();
  }
  // After the last record.
  void EndLog() {
    if (!ended_) run_.unfinished = "did not end";
  }

  void TakeConfig(const Json& config) {
    for (const auto& [key, entry] : config.items()) {
      const bool wrapped = entry.is_object() && entry.contains("value");
      if (!IsOfWandb(key)) AddSettings(key, wrapped ? entry["value"] : entry, run_);
    }
  }
  void TakeResult(const std::string& key, const Json& value) {
    if (IsOfWandb(key)) return;
    if (value.is_number()) {
      run_.results[key] = value.get<double>();
    } else if (value.is_object() && !value.contains("_type")) {
      for (const auto& [inner, number] : value.items()) TakeResult(absl::StrCat(key, ".", inner), number);
    } else if (!value.is_null()) {
      others_.insert(key);
    }
  }
  void TakeNumber(const std::string& key, std::uint64_t step, const Json& value) {
    if (!IsOfWandb(key) && value.is_number()) run_.curves[key].emplace_back(step, value.get<double>());
  }

  ForeignRun& run() { return run_; }
  const std::set<std::string>& others() const { return others_; }

 private:
  void TakeSettings(const v1::WandbRecord::Items& items) {
    for (const v1::WandbRecord::Item& item : items.update()) {
      if (!IsOfWandb(KeyOf(item))) AddSettings(KeyOf(item), ParsedJson(item.value_json()), run_);
    }
    for (const v1::WandbRecord::Item& item : items.remove()) run_.parameters.erase(KeyOf(item));
  }
  void TakeSummary(const v1::WandbRecord::Items& items) {
    for (const v1::WandbRecord::Item& item : items.update())
      TakeResult(KeyOf(item), ParsedJson(item.value_json()));
    for (const v1::WandbRecord::Item& item : items.remove()) run_.results.erase(KeyOf(item));
  }
  void TakePoint(const v1::WandbRecord::History& point) {
    std::int64_t step = point.step().num();
    for (const v1::WandbRecord::Item& item : point.item()) {
      const Json value = KeyOf(item) == kStep ? ParsedJson(item.value_json()) : Json();
      if (value.is_number()) step = value.get<std::int64_t>();
    }
    if (step < 0) return;
    for (const v1::WandbRecord::Item& item : point.item())
      TakeNumber(KeyOf(item), static_cast<std::uint64_t>(step), ParsedJson(item.value_json()));
  }

  ForeignRun run_;
  bool ended_ = false;
  std::set<std::string> others_;
};

absl::Status ReadHistoryLines(std::string_view text, const std::string& file, WandbRun& run) {
  std::uint64_t line = 0;
  for (const auto part : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line;
    if (part.empty()) continue;
    const Json point = Json::parse(part.begin(), part.end(), nullptr, /*allow_exceptions=*/false);
    if (!point.is_object())
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", line, ": is not an object of JSON; is the file complete? copy it again"));
    const auto step = point.find(kStep);
    const bool numbered = step != point.end() && step->is_number_unsigned();
    for (const auto& [key, value] : point.items())
      run.TakeNumber(key, numbered ? step->get<std::uint64_t>() : line - 1, value);
  }
  return absl::OkStatus();
}

absl::Status ReadHistoryTable(std::string_view text, const std::string& file, WandbRun& run) {
  ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(text, file, ""));
  std::size_t step = table.Find(kStep);
  if (step == table.headings.size()) step = table.Find("Step");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvTable::Row& row = table.rows[i];
    const std::optional<double> at =
        step < row.cells.size() ? ForeignNumber(row.cells[step]) : static_cast<double>(i);
    if (!at || !(*at >= 0))
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", row.line, ": column ", kStep, ": is not a step, 0 or more"));
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      const std::optional<double> number = ForeignNumber(row.cells[column]);
      if (column != step && number)
        run.TakeNumber(table.headings[column], static_cast<std::uint64_t>(*at), Json(*number));
    }
  }
  return absl::OkStatus();
}

// The first of these that is there.
std::optional<fs::path> OneOf(const fs::path& folder, std::initializer_list<const char*> names) {
  std::error_code error;
  for (const char* name : names) {
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return std::nullopt;
}

// A run without a log.
absl::Status ReadExport(const fs::path& folder, SourceFiles& files, WandbRun& run) {
  if (const auto config = OneOf(folder, {"files/config.yaml", "config.yaml"})) {
    ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(*config));
    const YamlDocument document = ParseYaml(mapped.bytes(), YamlTags::kStandard);
    if (document.root == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(config->string(), ":", document.error_position.line, ":",
                                                     document.error_position.column, ": ", document.error));
    const Json value = ValueOf(*document.root);
    if (value.is_object()) run.TakeConfig(value);
  }
  if (const auto summary = OneOf(folder, {"files/wandb-summary.json", "wandb-summary.json"})) {
    ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(*summary));
    const Json value = Json::parse(mapped.bytes(), nullptr, /*allow_exceptions=*/false);
    if (!value.is_object())
      return absl::InvalidArgumentError(
          absl::StrCat(summary->string(), ": is not an object of JSON; is the file complete? copy it again"));
    for (const auto& [key, result] : value.items()) run.TakeResult(key, result);
  }
  const auto history = OneOf(folder, {"files/wandb-history.jsonl", "history.jsonl", "files/history.jsonl",
                                      "history.csv", "files/history.csv"});
  if (!history) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(*history));
  return history->extension() == ".csv" ? ReadHistoryTable(mapped.bytes(), history->string(), run)
                                        : ReadHistoryLines(mapped.bytes(), history->string(), run);
}

// By folder, the log of a run; empty where it has none. Folders that W&B named as those of runs, and that have neither a log nor an
// export, are added to `without`.
absl::StatusOr<std::map<fs::path, fs::path>> RunFolders(const SourceFiles& files,
                                                        std::set<std::string>& without) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> all, files.Files());
  std::map<fs::path, fs::path> folders;
  for (const fs::path& file : all) {
    fs::path folder = file.parent_path();
    if (file.extension() == ".wandb") folders[folder] = file;
    if (folder.filename() == "files") folder = folder.parent_path();
    if (file.filename() == "wandb-summary.json" || file.filename() == "config.yaml")
      folders.try_emplace(folder);
    const std::string name = folder.filename().string();
    if (name.starts_with("run-") || name.starts_with("offline-run-")) without.insert(folder.string());
  }
  for (const auto& [folder, log] : folders) without.erase(folder.string());
  return folders;
}

}  // namespace

absl::StatusOr<ForeignRuns> ReadWandbRuns(SourceFiles& files, const v1::ImportMapping&) {
  std::set<std::string> others, without;
  ASSIGN_OR_RETURN(const auto folders, RunFolders(files, without));
  ForeignRuns read;
  for (const auto& [folder, log] : folders) {
    WandbRun run(folder);
    if (log.empty()) {
      RETURN_IF_ERROR(ReadExport(folder, files, run));
    } else {
      ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(log));
      RETURN_IF_ERROR(ForEachWandbRecord(mapped.bytes(), log.string(),
                                         [&run](std::string_view record, const std::string& place) {
                                           return run.TakeRecord(record, place);
                                         }));
      run.EndLog();
    }
    others.insert(run.others().begin(), run.others().end());
    read.runs.push_back(std::move(run.run()));
  }
  if (!without.empty())
    read.remarks.push_back(
        "left out, for they have neither a log (run-*.wandb) nor files/wandb-summary.json: " +
        ListOfNames({without.begin(), without.end()}));
  if (!others.empty())
    read.remarks.push_back("left out, for they are not numbers: " +
                           ListOfNames({others.begin(), others.end()}));
  return read;
}

}  // namespace inlier
