#include "worker/programs/program_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLineShown = 300;
constexpr double kNumberMax = 9007199254740992.0;  // Whole numbers up to here are exact.

// The members of one object, each of which must be asked for.
class Members {
 public:
  explicit Members(const Json& object) : object_(object) {}

  bool Has(const char* name) {
    known_.emplace_back(name);
    return object_.contains(name);
  }
  // Sets the problem where the member is not of its type.
  std::string Text(const char* name) {
    if (!Has(name)) return "";
    if (!object_[name].is_string()) return Wrong(name, "a text");
    return object_[name].get<std::string>();
  }
  bool Flag(const char* name) {
    if (!Has(name)) return false;
    if (object_[name].is_boolean()) return object_[name].get<bool>();
    Wrong(name, "true or false");
    return false;
  }
  std::uint64_t Whole(const char* name) {
    const double number = Number(name, "a whole number from 0 on");
    if (number >= 0 && number <= kNumberMax && number == std::floor(number))
      return static_cast<std::uint64_t>(number);
    Wrong(name, "a whole number from 0 on");
    return 0;
  }
  // Also "NaN", "Infinity" and "-Infinity", which JSON has no numbers for.
  double Number(const char* name, const char* type = "a number") {
    if (!Has(name)) return 0;
    const Json& value = object_[name];
    if (value.is_number()) return value.get<double>();
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    Wrong(name, type);
    return 0;
  }
  void Require(const char* name) {
    if (!object_.contains(name) && problem_.empty()) problem_ = absl::StrCat(name, " is missing");
  }
  // "" or the first problem; a member that nothing asked for is one.
  std::string Problem() const {
    if (!problem_.empty()) return problem_;
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(known_, name) == known_.end())
        return absl::StrCat(Quoted(name), " is unknown", DidYouMean(name, known_));
    }
    return "";
  }

 private:
  std::string Wrong(const char* name, const char* type) {
    if (problem_.empty()) problem_ = absl::StrCat(name, " is not ", type);
    return "";
  }

  const Json& object_;
  std::vector<std::string> known_;
  std::string problem_;
};

void ReadProgress(Members& members, v1::Progress& progress) {
  if (members.Has("step")) progress.set_step(members.Whole("step"));
  if (members.Has("steps_total")) progress.set_steps_total(members.Whole("steps_total"));
  if (members.Has("loss")) progress.set_loss(members.Number("loss"));
  if (members.Has("rate")) progress.set_rate(members.Number("rate"));
  progress.set_phase(members.Text("phase"));
  if (progress.phase().empty()) progress.set_phase("train");
}

void ReadMeasurement(Members& members, v1::MeasurementPoint& point) {
  members.Require("name");
  members.Require("value");
  point.set_name(members.Text("name"));
  point.set_value(members.Number("value"));
  point.set_step(members.Whole("step"));
  point.set_final(members.Flag("final"));
}

void ReadCheckpoint(Members& members, v1::CheckpointSaved& saved) {
  members.Require("path");
  members.Require("step");
  saved.set_path(members.Text("path"));
  saved.set_step(members.Whole("step"));
  saved.set_final(members.Flag("final"));
}

std::string ReadOutcome(Members& members, v1::Outcome& outcome) {
  members.Require("kind");
  v1::Outcome::Kind kind = v1::Outcome::FAILED;
  const std::string kind_text = members.Text("kind"), failure_text = members.Text("failure");
  if (!v1::Outcome::Kind_Parse(kind_text, &kind))
    return absl::StrCat("kind is ", Quoted(kind_text), ", not SUCCEEDED, DIVERGED or FAILED");
  outcome.set_kind(kind);
  outcome.set_message(members.Text("message"));
  if (kind != v1::Outcome::FAILED) return "";
  v1::FailureClass failure = v1::CRASHED;
  if (!failure_text.empty() &&
      (!v1::FailureClass_Parse(failure_text, &failure) ||
       (failure != v1::CRASHED && failure != v1::INVALID_SPEC && failure != v1::OUT_OF_MEMORY)))
    return absl::StrCat("failure is ", Quoted(failure_text), ", not INVALID_SPEC, OUT_OF_MEMORY or CRASHED");
  outcome.set_failure(failure);
  return "";
}

absl::Status CheckDeclared(const std::string& name, const v1::ProgramDescription& description) {
  if (description.measurements().contains(name)) return absl::OkStatus();
  std::vector<std::string> known;
  for (const auto& [declared, measurement] : description.measurements()) known.push_back(declared);
  std::ranges::sort(known);
  return absl::FailedPreconditionError(absl::StrCat("the program reported the measurement ", Quoted(name),
                                                    ", which inlier-program.yaml does not declare",
                                                    DidYouMean(name, known), "; add it under measurements"));
}

// By its first characters, of a line that is no JSON.
bool HasResult(std::string_view line) {
  std::string begin(line.substr(0, 40));
  std::erase_if(begin, [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); });
  return std::ranges::any_of(
      std::initializer_list<const char*>{"measurement", "checkpoint", "file", "outcome"},
      [&begin](const char* kind) { return absl::StartsWith(begin, absl::StrCat("{\"", kind, "\":")); });
}

}  // namespace

absl::StatusOr<ProgramLine> ParseProgramLine(std::string_view line,
                                             const v1::ProgramDescription& description) {
  static const std::vector<std::string> kinds = {"progress", "measurement", "checkpoint",
                                                 "log",      "file",        "outcome"};
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() && HasResult(line))
    return absl::FailedPreconditionError(absl::StrCat(
        "the program wrote a line that is not JSON of at most 64 KiB, and what it reports would be lost; "
        "correct it (NaN and Infinity are texts in quotes): ",
        std::string(line.substr(0, kLineShown))));
  if (!json.is_object() || json.size() != 1 || !json.begin().value().is_object())
    return absl::InvalidArgumentError("it is not an object such as {\"progress\": {\"step\": 1}}");
  const std::string kind = json.begin().key();
  Members members(json.begin().value());
  ProgramLine read;
  std::string problem;
  if (kind == "progress") {
    ReadProgress(members, *read.event.mutable_progress());
  } else if (kind == "measurement") {
    ReadMeasurement(members, *read.event.mutable_measurement());
  } else if (kind == "checkpoint") {
    ReadCheckpoint(members, *read.event.mutable_checkpoint());
  } else if (kind == "log") {
    members.Require("text");
    read.event.mutable_log()->set_text(members.Text("text"));
  } else if (kind == "file") {
    members.Require("path");
    read.kept_file = members.Text("path");
  } else if (kind == "outcome") {
    problem = ReadOutcome(members, *read.event.mutable_outcome());
  } else {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(kind), " is unknown", DidYouMean(kind, kinds)));
  }
  if (problem.empty()) problem = members.Problem();
  if (!problem.empty() && (kind == "progress" || kind == "log"))
    return absl::InvalidArgumentError(absl::StrCat(kind, ": ", problem));
  if (!problem.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("the program wrote a line that cannot be read, ", kind, ": ", problem,
                     "; correct it (docs/reference/protocol.md): ", std::string(line.substr(0, kLineShown))));
  if (read.event.has_measurement())
    RETURN_IF_ERROR(CheckDeclared(read.event.measurement().name(), description));
  return read;
}

}  // namespace inlier
