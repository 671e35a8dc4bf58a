// Runs of another tool, in no tool's own form: a reader for each format fills ForeignRuns, and MakeImport (import_request.h) makes
// the sweep of them. Names are as the tool has them, with dots or slashes.
//
// Errors name file, place and remedy. Thread safety: pure functions over the file system.
#ifndef INLIER_CLI_IMPORT_FOREIGN_RUNS_H_
#define INLIER_CLI_IMPORT_FOREIGN_RUNS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/import/source_files.h"
#include "google/protobuf/struct.pb.h"
#include "inlier/v1/sweep_import.pb.h"
#include "nlohmann/json.hpp"

namespace inlier {

using ForeignCurve = std::vector<std::pair<std::uint64_t, double>>;  // Step and value, as they come.

struct ForeignRun {
  std::string name;
  std::string place;                                          // "runs.csv:3", or the folder.
  std::map<std::string, google::protobuf::Value> parameters;  // Numbers, texts, true and false.
  std::map<std::string, double> results;                      // Where a curve has none, its last value is it.
  std::map<std::string, ForeignCurve> curves;
  std::string unfinished;  // How it ended, as its tool has it: "crashed"; empty: it finished.
};

struct ForeignRuns {
  std::vector<ForeignRun> runs;
  std::vector<std::string> remarks;  // What was guessed, and what is left out.
};

absl::StatusOr<ForeignRuns> ReadCsvRuns(SourceFiles& files, const v1::ImportMapping& mapping);
absl::StatusOr<ForeignRuns> ReadTensorBoardRuns(SourceFiles& files, const v1::ImportMapping& mapping);
absl::StatusOr<ForeignRuns> ReadWandbRuns(SourceFiles& files, const v1::ImportMapping& mapping);
absl::StatusOr<ForeignRuns> ReadMlflowRuns(SourceFiles& files, const v1::ImportMapping& mapping);

// Which of them `path` is for. InvalidArgument where it is none's, or several ones'.
absl::StatusOr<v1::ImportSource::Format> FormatOfRuns(const std::filesystem::path& path);

// True for a name that `ignore` has.
bool Ignores(const v1::ImportMapping& mapping, const std::string& name);
// A number as tools write it: "1e-3", "nan", "-inf", "Infinity".
std::optional<double> ForeignNumber(std::string_view text);
// A number, True or false, or the text itself.
google::protobuf::Value ForeignSetting(const std::string& text);
// Adds a setting of JSON: "model.layers" of {"model": {"layers": 2}}; a list as its JSON. null is none.
void AddSettings(const std::string& name, const nlohmann::ordered_json& value, ForeignRun& run);

// "loss, acc and 3 more".
std::string ListOfNames(const std::vector<std::string>& names);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_FOREIGN_RUNS_H_
