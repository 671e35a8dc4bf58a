// Runs of MLflow's file store (mlruns/EXPERIMENT/RUN/): params, and metrics as "time value step" lines.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/yaml_values.h"
#include "cli/import/foreign_runs.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

struct MetaFile {
  std::string experiment_id, name, run_id, run_name, status, lifecycle;
};

absl::StatusOr<MetaFile> ReadMeta(const fs::path& file, SourceFiles& files) {
  ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(file));
  const YamlDocument document = ParseYaml(mapped.bytes(), YamlTags::kStandard);
  if (document.root == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(file.string(), ":", document.error_position.line, ":",
                                                   document.error_position.column, ": ", document.error));
  const YamlNode& root = *document.root;
  return MetaFile{.experiment_id = TextOf(root, "experiment_id"),
                  .name = TextOf(root, "name"),
                  .run_id = TextOf(root, "run_id"),
                  .run_name = TextOf(root, "run_name"),
                  .status = TextOf(root, "status"),
                  .lifecycle = TextOf(root, "lifecycle_stage")};
}

// "" for a run that has finished. Stores have numbers, newer ones words.
std::string UnfinishedOf(const std::string& status) {
  static const std::map<std::string, std::string> words = {
      {"1", "running"}, {"2", "scheduled"}, {"3", ""}, {"4", "failed"}, {"5", "killed"}, {"FINISHED", ""}};
  const auto at = words.find(status);
  if (at != words.end()) return at->second;
  return status.empty() ? "of unknown state" : absl::AsciiStrToLower(status);
}

absl::Status ReadMetric(std::string_view text, const std::string& file, const std::string& name,
                        ForeignRun& run) {
  std::size_t line = 0;
  for (const auto part : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++line;
    if (part.empty()) continue;
    const std::vector<std::string> words = absl::StrSplit(part, ' ');
    const std::optional<double> value = words.size() >= 2 ? ForeignNumber(words[1]) : std::nullopt;
    std::int64_t step = 0;
    const bool cut = part.end() == text.data() + text.size();  // MLflow ends each line.
    if (!value || cut || words.size() > 3 || (words.size() == 3 && !absl::SimpleAtoi(words[2], &step)) ||
        step < 0)
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", line, ": ", Quoted({part.data(), part.size()}),
                       " is not a whole line of a time, a number and a step of 0 or more; is the file "
                       "complete? copy it again, or --ignore ",
                       name));
    run.curves[name].emplace_back(static_cast<std::uint64_t>(step), *value);
  }
  return absl::OkStatus();
}

absl::Status ReadRunFile(const fs::path& file, const fs::path& run_folder, const v1::ImportMapping& mapping,
                         SourceFiles& files, ForeignRun& run) {
  const fs::path inner = file.lexically_relative(run_folder);
  const std::string kind = inner.begin()->string();
  if (kind != "params" && kind != "metrics") return absl::OkStatus();
  const std::string name = inner.lexically_relative(kind).string();
  if (Ignores(mapping, name)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(file));
  if (kind == "metrics") return ReadMetric(mapped.bytes(), file.string(), name, run);
  std::string text(mapped.bytes());
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty() && text != "None") run.parameters[name] = ForeignSetting(text);
  return absl::OkStatus();
}

class MlflowStore {
 public:
  MlflowStore(SourceFiles& files, const v1::ImportMapping& mapping) : files_(files), mapping_(mapping) {}

  absl::StatusOr<ForeignRuns> Read() {
    ASSIGN_OR_RETURN(const std::vector<fs::path> all, files_.Files());
    for (const fs::path& file : all) {
      if (file.filename() != "meta.yaml") continue;
      ASSIGN_OR_RETURN(MetaFile meta, ReadMeta(file, files_));
      (meta.run_id.empty() ? experiments_ : runs_)[file.parent_path()] = std::move(meta);
    }
    RETURN_IF_ERROR(CheckWhole(all));
    ASSIGN_OR_RETURN(const std::string experiment, Experiment());
    std::size_t deleted = 0;
    ForeignRuns read;
    for (const auto& [folder, meta] : runs_) {
      if (meta.experiment_id != experiment) continue;
      if (meta.lifecycle == "deleted") {
        ++deleted;
        continue;
      }
      ForeignRun& run = read.runs.emplace_back();
      run.name = meta.run_name.empty() ? meta.run_id : meta.run_name;
      run.place = folder.string();
      run.unfinished = UnfinishedOf(meta.status);
      const std::string inside = folder.string() + "/";
      for (auto file = std::ranges::lower_bound(all, folder);
           file != all.end() && absl::StartsWith(file->string(), inside); ++file)
        RETURN_IF_ERROR(ReadRunFile(*file, folder, mapping_, files_, run));
    }
    if (deleted > 0)
      read.remarks.push_back(absl::StrCat(deleted, " runs that MLflow has deleted are left out"));
    read.remarks.push_back("left out: tags and artifacts");
    return read;
  }

 private:
  // Every folder with params or metrics is a run's or inside one.
  absl::Status CheckWhole(const std::vector<fs::path>& files) const {
    for (const fs::path& file : files) {
      fs::path suspect;  // The outermost that looks like a run.
      bool inside = false;
      for (fs::path folder = file.parent_path(); folder.has_relative_path() && folder != files_.root();
           folder = folder.parent_path()) {
        inside |= runs_.contains(folder);
        if (folder.filename() == "params" || folder.filename() == "metrics") suspect = folder.parent_path();
      }
      if (!inside && !suspect.empty() && suspect != files_.root() && !runs_.contains(files_.root()))
        return absl::InvalidArgumentError(absl::StrCat(
            suspect.string(),
            ": has params or metrics and no meta.yaml, so that it is no whole run; copy it again, "
            "or take it out of the folder"));
    }
    return absl::OkStatus();
  }
  // The id of the one that is asked for, or that alone has runs.
  absl::StatusOr<std::string> Experiment() const {
    std::map<std::string, std::string> found;  // Id -> name, of those with runs.
    for (const auto& [folder, meta] : runs_) found.emplace(meta.experiment_id, meta.experiment_id);
    for (const auto& [folder, meta] : experiments_) {
      if (found.contains(meta.experiment_id)) found[meta.experiment_id] = meta.name;
    }
    const std::string& asked = mapping_.experiment();
    std::vector<std::string> names;
    for (const auto& [id, name] : found) {
      if (!asked.empty() && (id == asked || name == asked)) return id;
      names.push_back(name);
    }
    const std::string root = files_.root().string();
    if (names.empty())
      return absl::InvalidArgumentError(root + ": has no runs of MLflow; give its folder mlruns");
    if (asked.empty() && names.size() == 1) return found.begin()->first;
    return absl::InvalidArgumentError(absl::StrCat(
        root, ": ",
        asked.empty() ? "has several experiments" : absl::StrCat("has no experiment ", Quoted(asked)),
        "; name one with --experiment: ", absl::StrJoin(names, ", ")));
  }

  SourceFiles& files_;
  const v1::ImportMapping& mapping_;
  std::map<fs::path, MetaFile> experiments_, runs_;  // By folder.
};

}  // namespace

absl::StatusOr<ForeignRuns> ReadMlflowRuns(SourceFiles& files, const v1::ImportMapping& mapping) {
  return MlflowStore(files, mapping).Read();
}

}  // namespace inlier
