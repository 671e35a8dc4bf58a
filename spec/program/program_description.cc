#include "spec/program/program_description.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/digest.h"
#include "base/sorted_map.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/program/program_columns.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/schema/struct_value.h"
#include "spec/schema/yaml_reader.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Value;
using Words = std::vector<std::string>;

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kParameterDepthMax = 8;  // Groups of a parameter.
constexpr std::size_t kDescriptionBytesMax = 64 << 10;
constexpr std::size_t kFilesMax = 10'000;

constexpr char kWordForm[] = "letters, digits and \"_\", a letter first, at most 64";

bool IsWord(std::string_view word) {
  return !word.empty() && word.size() <= kNameBytesMax && absl::ascii_isalpha(word.front()) &&
         std::ranges::all_of(word, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

bool IsProgramName(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && absl::ascii_isalpha(name.front()) &&
         std::ranges::all_of(name, [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; });
}

// A path that stays below the program's folder.
bool IsInner(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !path.empty() && normal.is_relative() && normal.begin()->string() != "..";
}

// The number that a value is meant as: 1e-3 is read as a text where nothing says that it is a number.
std::optional<double> NumberIn(const Value& value) {
  if (value.kind_case() == Value::kNumberValue) return value.number_value();
  return value.kind_case() == Value::kStringValue ? ParseNumber(value.string_value()) : std::nullopt;
}

std::string DefaultProblem(const v1::ProgramParameter& parameter) {
  const Value& value = parameter.default_();
  const std::string text = ValueText(value);
  switch (parameter.type()) {
    case v1::ProgramParameter::NUMBER:
    case v1::ProgramParameter::INTEGER: {
      const std::optional<double> number = NumberIn(value);
      if (!number) return Quoted(text) + " is not a number; give one, or another type";
      if (parameter.type() == v1::ProgramParameter::INTEGER &&
          (*number != static_cast<std::int32_t>(std::clamp(*number, -2147483648.0, 2147483647.0))))
        return text + " is not a whole number from -2147483648 to 2147483647; give one, or type: NUMBER";
      if ((parameter.has_min() && *number < parameter.min()) ||
          (parameter.has_max() && *number > parameter.max()))
        return text + " is out of the range of min and max; give another one";
      return "";
    }
    case v1::ProgramParameter::TRUE_OR_FALSE:
      return value.kind_case() == Value::kBoolValue ? "" : Quoted(text) + " is neither true nor false";
    case v1::ProgramParameter::TEXT:
      if (value.kind_case() == Value::kListValue || value.kind_case() == Value::kStructValue)
        return "is not a single text; give one in quotes";
      if (parameter.choices().empty() ||
          std::ranges::find(parameter.choices(), text) != parameter.choices().end())
        return "";
      return Quoted(text) + " is not one of the choices" +
             DidYouMean(text, {parameter.choices().begin(), parameter.choices().end()});
  }
  return "";
}

void CheckParameter(const std::string& path, const v1::ProgramParameter& parameter, Problems* problems) {
  const bool number =
      parameter.type() == v1::ProgramParameter::NUMBER || parameter.type() == v1::ProgramParameter::INTEGER;
  if (!parameter.has_type()) return;  // Reported with the declarations.
  if (!number && (parameter.has_min() || parameter.has_max()))
    problems->Add(path, "is not a number and has min or max; leave them out");
  if (parameter.has_min() && parameter.has_max() && parameter.min() > parameter.max())
    problems->Add(path + ".min", "is above max; change one of them");
  if (parameter.type() != v1::ProgramParameter::TEXT && parameter.choices_size() > 0)
    problems->Add(path + ".choices", "are of texts alone; give type: TEXT, or min and max");
  if (parameter.has_column() && !IsWord(parameter.column()))
    problems->Add(path + ".column", Quoted(parameter.column()) + " cannot name a column: use " + kWordForm);
  if (!parameter.has_default_()) return;
  if (parameter.required()) problems->Add(path + ".required", "has a default; leave out one of the two");
  if (const std::string problem = DefaultProblem(parameter); !problem.empty())
    problems->Add(path + ".default", problem);
}

void CheckParameters(const v1::ProgramDescription& description, Problems* problems) {
  if (description.parameters().size() > kProgramColumnsMax)
    problems->Add("parameters", absl::StrCat(description.parameters_size(), " parameters are more than ",
                                             kProgramColumnsMax, "; leave out those that no sweep changes"));
  for (const auto& [name, parameter] : Sorted(description.parameters())) {
    const std::string path = JoinPath("parameters", name);
    const Words words = absl::StrSplit(name, '.');
    if (!std::ranges::all_of(words, IsWord) || words.size() > kParameterDepthMax) {
      problems->Add(path, absl::StrCat(Quoted(name), " cannot name a parameter: use ", kWordForm,
                                       ", or several such words with single dots between them"));
    } else if (name == "seed") {
      problems->Add(path, "is there for every program: remove it, and read the seed of the trial");
    }
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      if (description.parameters().contains(name.substr(0, dot)))
        problems->Add(path,
                      Quoted(name.substr(0, dot)) + " is a parameter and cannot be a group too; rename one");
    }
    CheckParameter(path, parameter, problems);
  }
}

void CheckInliersEvaluation(const v1::ProgramDescription& description, Problems* problems) {
  if (!InlierEvaluates(description)) return;
  for (const auto& [name, parameter] : Sorted(description.parameters())) {
    const std::string path = JoinPath("parameters", name);
    if (std::ranges::find(kSettings, name.substr(0, name.find('.'))) != std::end(kSettings))
      problems->Add(path, "is a setting of inlier's evaluation already (evaluate: [inlier]); rename it");
    if (parameter.read_by() == v1::ProgramParameter::EVALUATION)
      problems->Add(path + ".read_by",
                    "is EVALUATION, and inlier evaluates (evaluate: [inlier]); leave it out");
  }
  for (const auto& [name, measurement] : Sorted(description.measurements())) {
    const MeasurementInfo* ours = FindMeasurement(name);
    const std::string path = JoinPath("measurements", name);
    if (ours != nullptr && ours->source == "evaluate")
      problems->Add(path, "is reported by inlier's evaluation (evaluate: [inlier]); rename it");
    if (measurement.reported_by() == v1::ProgramParameter::EVALUATION)
      problems->Add(path + ".reported_by",
                    "is EVALUATION, and inlier evaluates (evaluate: [inlier]); leave it out");
  }
}

// "NAME@sha256:DIGEST" or "sha256:DIGEST".
bool IsPinned(const std::string& image) {
  const std::size_t digest = image.find("sha256:");
  if (digest == std::string::npos || !IsSha256Hex(std::string_view(image).substr(digest + 7))) return false;
  return digest == 0 || (absl::ascii_isalnum(image[0]) && image[digest - 1] == '@');
}

void CheckFiles(const v1::ProgramDescription& description, Problems* problems) {
  for (int i = 0; i < description.files_size(); ++i) {
    if (!IsInner(description.files(i)))
      problems->Add(ItemPath("files", i), Quoted(description.files(i)) +
                                              " leaves the program's folder; give a path or glob below it");
  }
  const v1::ProgramEnvironment& environment = description.environment();
  if (environment.has_venv() + environment.has_conda() + environment.has_image() > 1)
    problems->Add("environment", "has more than one of venv, conda and image; keep one");
  const std::string& image = environment.image();
  if (environment.has_image() && !IsImageFile(image) && !IsPinned(image))
    problems->Add("environment.image",
                  Quoted(image) +
                      " may name another image tomorrow; give NAME@sha256:DIGEST (`podman image inspect "
                      "--format '{{.Digest}}' NAME` prints it), sha256:DIGEST of one of the worker's machine "
                      "(its id), or a .sif file below the program's folder");
  for (const auto& [path, value] :
       {std::pair("environment.venv", environment.venv()), std::pair("environment.lock", environment.lock()),
        std::pair("environment.image", IsImageFile(image) ? image : "")}) {
    if (!value.empty() && !IsInner(value))
      problems->Add(path, Quoted(value) + " leaves the program's folder; give a path below it");
  }
}

// `leads`: the path is a folder, and something below it may match.
bool Matches(const Words& glob, std::size_t i, const Words& path, std::size_t j, bool leads = false) {
  if (i == glob.size()) return j == path.size() && !leads;
  if (leads && (j == path.size() || glob[i] == "**")) return true;
  if (glob[i] == "**")
    return Matches(glob, i + 1, path, j) || (j < path.size() && Matches(glob, i, path, j + 1));
  return j < path.size() && fnmatch(glob[i].c_str(), path[j].c_str(), FNM_PERIOD) == 0 &&
         Matches(glob, i + 1, path, j + 1, leads);
}

// The words of the globs of its files.
std::vector<Words> GlobsOf(const v1::ProgramDescription& description) {
  if (description.files().empty()) return {{"*.py"}};
  std::vector<Words> globs;
  for (const std::string& glob : description.files())
    globs.emplace_back(absl::StrSplit(fs::path(glob).lexically_normal().string(), '/'));
  return globs;
}

bool IsSkipped(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.starts_with('.') || name == "__pycache__" || fs::exists(folder / "pyvenv.cfg");
}

// The files where one of `globs` may match, relative to `folder`, but those of hidden folders and environments.
absl::StatusOr<std::vector<std::string>> FilesBelow(const fs::path& folder, const std::vector<Words>& globs) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory() && !at->is_symlink()) {
      const Words words = absl::StrSplit(at->path().lexically_relative(folder).string(), '/');
      const auto leads = [&words](const Words& glob) { return Matches(glob, 0, words, 0, /*leads=*/true); };
      if (IsSkipped(at->path()) || std::ranges::none_of(globs, leads)) at.disable_recursion_pending();
    } else if (at->is_regular_file()) {
      files.push_back(at->path().lexically_relative(folder).string());
    }
  }
  if (error)
    return absl::UnavailableError(absl::StrCat(folder.string(), ": cannot be listed: ", error.message()));
  return files;
}

}  // namespace

bool InlierEvaluates(const v1::ProgramDescription& description) {
  return description.evaluate_size() == 1 && description.evaluate(0) == "inlier";
}

Problems FindProgramProblems(const v1::ProgramDescription& description) {
  Problems problems;
  CheckDeclarations(description, "", &problems);
  for (const auto& [name, parameter] : Sorted(description.parameters()))
    CheckDeclarations(parameter, JoinPath("parameters", name), &problems);
  if (description.has_name() && !IsProgramName(description.name()))
    problems.Add(
        "name",
        Quoted(description.name()) +
            " cannot name a program: use letters, digits, \"_\" and \"-\", a letter first, at most 64");
  for (const std::string& word : description.command()) {
    if (word.empty()) problems.Add("command", "has an empty word; remove it");
  }
  CheckParameters(description, &problems);
  for (const auto& [name, measurement] : Sorted(description.measurements())) {
    if (!IsWord(name))
      problems.Add(JoinPath("measurements", name),
                   absl::StrCat(Quoted(name), " cannot name a measurement: use ", kWordForm));
  }
  if (description.measurements().size() > kProgramMeasurementsMax)
    problems.Add("measurements", absl::StrCat(description.measurements_size(), " measurements are more than ",
                                              kProgramMeasurementsMax, "; leave some out"));
  CheckColumns(description, &problems);
  CheckFiles(description, &problems);
  CheckInliersEvaluation(description, &problems);
  if (description.ByteSizeLong() > kDescriptionBytesMax)
    problems.Add("", absl::StrCat("the description has more than ", kDescriptionBytesMax >> 10,
                                  " KiB; leave out parameters that no sweep changes"));
  return problems;
}

absl::StatusOr<v1::ProgramDescription> ReadProgram(const fs::path& folder) {
  const fs::path file = folder / kProgramFileName;
  v1::ProgramDescription description;
  SourceMap positions;
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  RETURN_IF_ERROR(ReadYamlText(text, file.string(), &description, &positions));
  RETURN_IF_ERROR(positions.ToStatus(file.string(), FindProgramProblems(description)));
  return description;
}

bool IsProgramFile(const v1::ProgramDescription& description, const std::string& path) {
  return std::ranges::any_of(
      GlobsOf(description),
      [words = Words(absl::StrSplit(path, '/'))](const Words& glob) { return Matches(glob, 0, words, 0); });
}

absl::StatusOr<std::vector<std::string>> ProgramFiles(const fs::path& folder,
                                                      const v1::ProgramDescription& description) {
  const std::vector<Words> globs = GlobsOf(description);
  ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(folder, globs));
  std::set<std::string> found = {kProgramFileName};
  for (std::size_t i = 0; i < globs.size(); ++i) {
    const std::size_t before = found.size();
    std::size_t matched = 0;
    for (const std::string& file : files) {
      if (!Matches(globs[i], 0, Words(absl::StrSplit(file, '/')), 0)) continue;
      found.insert(file);
      ++matched;
    }
    if (matched == 0 && description.files_size() > 0)
      return absl::InvalidArgumentError(absl::StrCat(
          (folder / kProgramFileName).string(), ": files: ", Quoted(description.files(static_cast<int>(i))),
          " matches no file in ", folder.string(), "; correct it"));
    if (found.size() > std::max(before, kFilesMax))
      return absl::InvalidArgumentError(absl::StrCat((folder / kProgramFileName).string(),
                                                     ": files: more than ", kFilesMax,
                                                     " files match; name the source alone"));
  }
  if (description.environment().has_lock()) found.insert(description.environment().lock());
  if (IsImageFile(description.environment().image())) found.insert(description.environment().image());
  return std::vector<std::string>(found.begin(), found.end());
}

absl::StatusOr<std::string> ProgramDigest(const fs::path& folder, const v1::ProgramDescription& description) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ProgramFiles(folder, description));
  Sha256 whole;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(folder / file));
    whole.Update(absl::StrCat(digest, "  ", file, "\n"));
  }
  return whole.HexDigest();
}

}  // namespace inlier
