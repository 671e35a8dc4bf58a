#include "cli/import/foreign_runs.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamesShown = 8;
constexpr double kWholeMax =
    9007199254740992;  // 2^53: whole numbers from here on are not all numbers here, and stay texts.

}  // namespace

bool Ignores(const v1::ImportMapping& mapping, const std::string& name) {
  return std::ranges::any_of(mapping.ignore(), [&name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::optional<double> ForeignNumber(std::string_view text) {
  if (const std::optional<double> number = ParseNumber(text)) return number;
  std::string word = absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
  const double sign = word.starts_with('-') ? -1 : 1;
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity") return sign * std::numeric_limits<double>::infinity();
  return std::nullopt;
}

google::protobuf::Value ForeignSetting(const std::string& text) {
  google::protobuf::Value value;
  const bool whole = text.find_first_not_of("0123456789", text.starts_with('-')) == std::string::npos;
  if (absl::EqualsIgnoreCase(text, "true") || absl::EqualsIgnoreCase(text, "false")) {
    value.set_bool_value(absl::EqualsIgnoreCase(text, "true"));
  } else if (const std::optional<double> number = ForeignNumber(text);
             number && !(whole && std::abs(*number) >= kWholeMax)) {
    value.set_number_value(*number);
  } else {
    value.set_string_value(text);
  }
  return value;
}

void AddSettings(const std::string& name, const nlohmann::ordered_json& value, ForeignRun& run) {
  if (value.is_null()) return;
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      AddSettings(name.empty() ? key : absl::StrCat(name, ".", key), inner, run);
    return;
  }
  google::protobuf::Value& setting = run.parameters[name];
  if (value.is_boolean()) {
    setting.set_bool_value(value.get<bool>());
  } else if (value.is_number_integer()) {
    setting = ForeignSetting(value.dump());
  } else if (value.is_number()) {
    setting.set_number_value(value.get<double>());
  } else {
    setting.set_string_value(value.is_string()
                                 ? value.get<std::string>()
                                 : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

std::string ListOfNames(const std::vector<std::string>& names) {
  if (names.size() <= kNamesShown) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kNamesShown, ", "), " and ",
                      names.size() - kNamesShown, " more");
}

absl::StatusOr<v1::ImportSource::Format> FormatOfRuns(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return absl::NotFoundError(absl::StrCat(path.string(), ": is not there; give a file or a folder"));
  if (!fs::is_directory(path, error)) {
    if (absl::StrContains(path.filename().string(), "tfevents") || path.extension() == ".wandb")
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), ": give the folder that it is in, which is the run"));
    return v1::ImportSource::CSV;
  }
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, SourceFiles(path).Files());
  bool events = false, wandb = false, mlflow = false;
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    events |= absl::StrContains(name, "tfevents");
    wandb |= file.extension() == ".wandb" || name == "wandb-summary.json";
    mlflow |= name == "meta.yaml";
  }
  if (events + wandb + mlflow > 1)
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": has files of several tools; say which with --format tensorboard, wandb or mlflow"));
  if (events) return v1::ImportSource::TENSORBOARD;
  if (wandb) return v1::ImportSource::WANDB;
  if (mlflow) return v1::ImportSource::MLFLOW;
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(),
                   ": has neither event files of TensorBoard, nor runs of Weights & Biases (run-*.wandb or "
                   "files/wandb-summary.json), nor a file store of MLflow (meta.yaml); give another folder, "
                   "or a CSV file"));
}

}  // namespace inlier
