#include "cli/convert/wandb_reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/wandb_distribution.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

// Keys of a sweep that have no counterpart.
const std::map<std::string, std::string> kLeftOut = {
    {"entity", "names an account of W&B and is left out"},
    {"project",
     "names a place of W&B and is left out; `group` of a sweep shares a quota, and tables name sweeps"},
    {"kind", "says what the file is and is left out"},
    {"apiVersion", "is the version of W&B's form and is left out"},
    {"controller", "is left out; the coordinator of inlier hands out the trials"},
    {"scheduler", "is left out; `sampling` says how the points are chosen"},
    {"job", "names a job of W&B Launch and is left out; declare the program in inlier-program.yaml"},
    {"image_uri", "is left out; environment.image of inlier-program.yaml names the image"},
    {"metrics",
     "has several objectives and is left out; each is a measurement of the program and a column of tables"},
};

class WandbReader {
 public:
  explicit WandbReader(const YamlNode& root) : root_(root) {}

  absl::StatusOr<ForeignSweep> Read() {
    sweep_.name = TextOf(root_, "name");
    sweep_.description = TextOf(root_, "description");
    sweep_.program = TextOf(root_, "program");
    if (const auto* program = FindEntry(root_, "program")) sweep_.program_position = program->position;
    RETURN_IF_ERROR(ReadMethod());
    RETURN_IF_ERROR(ReadParameters(*FindGroup(root_, "parameters"), ""));
    RETURN_IF_ERROR(ReadMetric());
    ReadCommand();
    if (const auto* stop = FindEntry(root_, "early_terminate")) RETURN_IF_ERROR(ReadEarlyTerminate(*stop));
    TellOfTheRest();
    return std::move(sweep_);
  }

 private:
  absl::Status ReadMethod() {
    const auto* cap = FindEntry(root_, "run_cap");
    sweep_.trials_key = "run_cap";
    if (cap != nullptr) {
      ASSIGN_OR_RETURN(sweep_.trials, CountOf(*cap, "run_cap"));
      if (*sweep_.trials == 0)
        return ForeignError(cap->value->position, "run_cap", "is 0; give a number above it");
    }
    const auto* entry = FindEntry(root_, "method");
    const SourceMap::Position position = entry != nullptr ? entry->position : root_.position;
    sweep_.trials_position = cap != nullptr ? cap->position : position;
    const std::string method = entry == nullptr ? "" : entry->value->text;
    if (method == "grid") {
      sweep_.plan = ForeignSweep::kGrid;
    } else if (method == "random") {
      sweep_.plan = ForeignSweep::kRandom;
    } else if (method == "bayes" || method == "custom") {
      sweep_.plan = ForeignSweep::kSobol;
      sweep_.learner = method;
      sweep_.learner_key = "method";
      sweep_.learner_position = position;
    } else {
      return ForeignError(position, "method",
                          (entry == nullptr ? "is missing" : Quoted(method) + " is no method of W&B") +
                              "; write grid, random or bayes");
    }
    return absl::OkStatus();
  }

  absl::Status ReadParameters(const YamlNode& group, const std::string& prefix) {
    for (const YamlNode::Entry& entry : group.entries) {
      const std::string name = JoinPath(prefix, entry.key);
      const std::string path = "parameters." + name;
      if (entry.value->kind != YamlNode::kMap)
        return ForeignError(entry.position, path, "is not a mapping; write {value: ...} or {values: [...]}");
      if (const YamlNode* inner = FindGroup(*entry.value, "parameters")) {
        RETURN_IF_ERROR(ReadParameters(*inner, name));
        continue;
      }
      ForeignParameter& parameter = sweep_.parameters.emplace_back();
      parameter.name = name;
      parameter.path = path;
      parameter.position = entry.position;
      RETURN_IF_ERROR(ReadWandbParameter(*entry.value, &parameter, &sweep_));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMetric() {
    const YamlNode* metric = FindGroup(root_, "metric");
    if (metric == nullptr) return absl::OkStatus();
    for (const YamlNode::Entry& entry : metric->entries) {
      if (entry.key == "name") {
        sweep_.measurement = entry.value->text;
        sweep_.measurement_position = entry.position;
      } else if (entry.key == "goal") {
        sweep_.maximize = entry.value->text == "maximize";
        if (!sweep_.maximize && entry.value->text != "minimize")
          return ForeignError(entry.value->position, "metric.goal",
                              "is neither minimize nor maximize; write one");
      } else if (entry.key == "target") {
        sweep_.Tell(
            entry.position, "metric.target",
            "a sweep does not end at a target; end it with `inlier cancel SWEEP` when a trial is there");
      } else {
        sweep_.Tell(entry.position, "metric." + entry.key, "serves the search by results and is left out");
      }
    }
    return absl::OkStatus();
  }

  // The words that train: macros of W&B are what the worker does, or nothing.
  void ReadCommand() {
    const auto* command = FindEntry(root_, "command");
    if (command == nullptr) return;
    for (const auto& item : command->value->items) {
      const std::string& word = item->text;
      if (word == "${interpreter}") {
        sweep_.command.push_back("python");
      } else if (word == "${program}") {
        if (!sweep_.program.empty()) sweep_.command.push_back(sweep_.program);
      } else if (word.starts_with("${envvar:")) {
        sweep_.Tell(item->position, "command",
                    word + " is left out; set the variable for the program in the worker's configuration");
      } else if (!word.starts_with("${")) {
        sweep_.command.push_back(word);
      }
    }
  }

  absl::Status ReadEarlyTerminate(const YamlNode::Entry& stop) {
    const std::string path = "early_terminate";
    if (stop.value->kind != YamlNode::kMap || TextOf(*stop.value, "type") != "hyperband") {
      sweep_.Tell(stop.position, path,
                  "is not of the type hyperband and is left out; write `pruning` (docs/guides/search.md)");
      return absl::OkStatus();
    }
    if (sweep_.measurement.empty()) {
      sweep_.Tell(stop.position, path,
                  "is left out, because there is no metric to compare; write `pruning` with one");
      return absl::OkStatus();
    }
    double eta = 3, first = 0;
    if (const auto* entry = FindEntry(*stop.value, "eta")) {
      ASSIGN_OR_RETURN(eta, NumberOf(*entry, path + ".eta"));
    }
    if (eta <= 1 || eta > 1000)
      return ForeignError(stop.position, path + ".eta", "is not above 1 and at most 1000; give another");
    if (const auto* entry = FindEntry(*stop.value, "max_iter")) {
      ASSIGN_OR_RETURN(first, NumberOf(*entry, path + ".max_iter"));
      double brackets = 1;
      if (const auto* s = FindEntry(*stop.value, "s")) {
        ASSIGN_OR_RETURN(brackets, NumberOf(*s, path + ".s"));
      }
      for (int i = 0; i < brackets && (i == 0 || first / eta >= 1); ++i) first /= eta;
    } else if (const auto* least = FindEntry(*stop.value, "min_iter")) {
      ASSIGN_OR_RETURN(first, NumberOf(*least, path + ".min_iter"));
    }
    if (!(first >= 1 && first <= 1e9)) {
      sweep_.Tell(stop.position, path,
                  "compares at no iteration and is left out; write `pruning` with asha.min_steps");
      return absl::OkStatus();
    }
    const double reduction = std::max(2.0, std::round(eta)), step = std::floor(first);
    sweep_.asha = {{"min_steps", static_cast<std::int64_t>(step)},
                   {"reduction", static_cast<std::int64_t>(reduction)}};
    sweep_.Tell(
        stop.position, path,
        absl::StrCat("W&B counts how often the metric was logged; here trainings are compared at the steps ",
                     FormatNumber(step), ", ", FormatNumber(step * reduction), ", ",
                     FormatNumber(step * reduction * reduction),
                     ", ... that the program reports with it: let it count so, or change asha.min_steps",
                     reduction == eta
                         ? ""
                         : absl::StrCat("; eta ", FormatNumber(eta), " became ", FormatNumber(reduction))));
    return absl::OkStatus();
  }

  void TellOfTheRest() {
    const std::vector<std::string> read = {"program",     "method",  "metric",          "parameters", "name",
                                           "description", "command", "early_terminate", "run_cap"};
    for (const YamlNode::Entry& entry : root_.entries) {
      if (std::ranges::find(read, entry.key) != read.end()) continue;
      const auto known = kLeftOut.find(entry.key);
      sweep_.Tell(entry.position, entry.key,
                  known != kLeftOut.end() ? known->second
                                          : "is no key of W&B and is left out" + DidYouMean(entry.key, read));
    }
  }

  const YamlNode& root_;
  ForeignSweep sweep_;
};

}  // namespace

bool IsWandbSweep(const YamlNode& root) {
  if (FindGroup(root, "parameters") == nullptr || FindEntry(root, "axes") != nullptr ||
      FindEntry(root, "base") != nullptr)
    return false;
  for (const char* key : {"method", "metric", "program", "early_terminate", "run_cap"}) {
    if (FindEntry(root, key) != nullptr) return true;
  }
  return false;
}

absl::StatusOr<ForeignSweep> ReadWandbSweep(const YamlNode& root) { return WandbReader(root).Read(); }

}  // namespace inlier
