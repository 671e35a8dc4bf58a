// Runs of TensorBoard: each folder with event files is one. Scalars are curves, and their last values results; settings are
// those of the hparams plugin.
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/import/event_file.h"
#include "cli/import/foreign_runs.h"
#include "inlier/v1/foreign_files.pb.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr int kFloat = 1, kDouble = 2;               // Of TensorFlow's types.
constexpr int kHparamsFailed = 2, kHparamsRuns = 3;  // Of the plugin's states.

// The number of a tensor with one element.
std::optional<double> ScalarOf(const v1::EventFileTensor& tensor) {
  const std::string& content = tensor.tensor_content();
  if (tensor.dtype() == kFloat && tensor.float_val_size() == 1) return tensor.float_val(0);
  if (tensor.dtype() == kDouble && tensor.double_val_size() == 1) return tensor.double_val(0);
  if (tensor.dtype() == kFloat && content.size() == sizeof(float)) {
    float number = 0;
    std::memcpy(&number, content.data(), sizeof(number));
    return number;
  }
  if (tensor.dtype() == kDouble && content.size() == sizeof(double)) {
    double number = 0;
    std::memcpy(&number, content.data(), sizeof(number));
    return number;
  }
  return std::nullopt;
}

class EventRun {
 public:
  explicit EventRun(ForeignRun& run) : run_(run) {}

  absl::Status Take(std::string_view record, const std::string& place) {
    v1::EventFileEvent event;
    if (!event.ParseFromArray(record.data(), static_cast<int>(record.size())))
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": the record is not an event of TensorBoard; is it another file?"));
    for (const v1::EventFileSummary::Value& value : event.summary().value()) {
      const std::string& plugin = value.metadata().plugin_data().plugin_name();
      if (plugin == "hparams") {
        RETURN_IF_ERROR(TakeSettings(value.metadata().plugin_data().content(), place));
        continue;
      }
      // The plugin is said at the first value of a tag.
      if (plugin == "scalars") scalars_.insert(value.tag());
      std::optional<double> number;
      if (value.has_simple_value()) number = value.simple_value();
      if (value.has_tensor() && scalars_.contains(value.tag())) number = ScalarOf(value.tensor());
      if (!number) {
        others_.insert(value.tag());
        continue;
      }
      if (event.step() < 0)
        return absl::InvalidArgumentError(
            absl::StrCat(place, ": ", value.tag(), " is at step ", event.step(), "; --ignore ", value.tag()));
      run_.curves[value.tag()].emplace_back(static_cast<std::uint64_t>(event.step()), *number);
    }
    return absl::OkStatus();
  }

  const std::set<std::string>& others() const { return others_; }

 private:
  absl::Status TakeSettings(const std::string& content, const std::string& place) {
    v1::EventFileHparams settings;
    if (!settings.ParseFromString(content))
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": the settings of the hparams plugin cannot be read"));
    for (const auto& [name, value] : settings.session_start_info().hparams()) {
      if (value.kind_case() != google::protobuf::Value::kNullValue &&
          value.kind_case() != google::protobuf::Value::KIND_NOT_SET)
        run_.parameters[name] = value;
    }
    if (settings.has_session_end_info()) {
      const int status = settings.session_end_info().status();
      run_.unfinished = status == kHparamsFailed ? "failed" : status == kHparamsRuns ? "running" : "";
    }
    return absl::OkStatus();
  }

  ForeignRun& run_;
  std::set<std::string> scalars_, others_;
};

// torch writes the settings of a run, with its last results, into a folder below the run's: they are one run.
std::size_t JoinSettings(std::map<fs::path, ForeignRun>& runs) {
  std::size_t joined = 0;
  for (auto at = runs.begin(); at != runs.end();) {
    const auto parent = runs.find(at->first.parent_path());
    if (parent == runs.end() || at->second.parameters.empty() || !parent->second.parameters.empty()) {
      ++at;
      continue;
    }
    parent->second.parameters = std::move(at->second.parameters);
    parent->second.unfinished = at->second.unfinished;
    for (auto& [tag, curve] : at->second.curves) parent->second.curves.try_emplace(tag, std::move(curve));
    at = runs.erase(at);
    ++joined;
  }
  return joined;
}

}  // namespace

absl::StatusOr<ForeignRuns> ReadTensorBoardRuns(SourceFiles& files, const v1::ImportMapping& mapping) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> all, files.Files());
  std::map<fs::path, ForeignRun> runs;  // By folder.
  std::set<std::string> others;
  for (const fs::path& file : all) {
    if (!absl::StrContains(file.filename().string(), "tfevents") || file.extension() == ".profile-empty")
      continue;
    const fs::path folder = file.parent_path();
    ForeignRun& run = runs[folder];
    run.place = folder.string();
    run.name = folder == files.root() ? folder.filename().string()
                                      : folder.lexically_relative(files.root()).string();
    ASSIGN_OR_RETURN(const MappedFile mapped, files.Open(file));
    EventRun events(run);
    RETURN_IF_ERROR(ForEachRecord(
        mapped.bytes(), file.string(),
        [&events](std::string_view record, const std::string& place) { return events.Take(record, place); }));
    others.insert(events.others().begin(), events.others().end());
  }
  ForeignRuns read;
  if (const std::size_t joined = JoinSettings(runs); joined > 0)
    read.remarks.push_back(absl::StrCat(
        "the settings of ", joined,
        joined == 1 ? " run are those of the folder below it" : " runs are those of the folders below them"));
  if (!others.empty())
    read.remarks.push_back("left out, for they are not scalars: " +
                           ListOfNames({others.begin(), others.end()}));
  for (auto& [folder, run] : runs) read.runs.push_back(std::move(run));
  return read;
}

}  // namespace inlier
