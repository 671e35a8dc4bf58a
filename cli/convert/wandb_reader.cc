#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/foreign_readers.h"
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
    if (const auto* program = FindEntry(root_, "program"))
      sweep_.program_place = {program->position, "program"};
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
    const auto *entry = FindEntry(root_, "method"), *cap = FindEntry(root_, "run_cap");
    const Place place = {entry != nullptr ? entry->position : root_.position, "method"};
    sweep_.trials_place = {cap != nullptr ? cap->position : place.position, "run_cap"};
    if (cap != nullptr) {
      ASSIGN_OR_RETURN(sweep_.trials, CountOf(*cap, "run_cap", 1));
    }
    const std::string method = TextOf(root_, "method");
    if (method == "random") {
      sweep_.plan = ForeignSweep::kRandom;
    } else if (method == "bayes" || method == "custom") {
      sweep_.plan = ForeignSweep::kSobol;
      sweep_.learner = method;
      sweep_.learner_place = place;
    } else if (method != "grid") {
      return ForeignError(place, (entry == nullptr ? "is missing" : Quoted(method) + " is no method of W&B") +
                                     "; write grid, random or bayes");
    }
    return absl::OkStatus();
  }

  absl::Status ReadParameters(const YamlNode& group, const std::string& prefix) {
    for (const YamlNode::Entry& entry : group.entries) {
      const std::string name = JoinPath(prefix, entry.key);
      const Place place = {entry.position, "parameters." + name};
      if (entry.value->kind != YamlNode::kMap)
        return ForeignError(place, "is not a mapping; write {value: ...} or {values: [...]}");
      if (const YamlNode* inner = FindGroup(*entry.value, "parameters")) {
        RETURN_IF_ERROR(ReadParameters(*inner, name));
        continue;
      }
      ForeignParameter& parameter = sweep_.parameters.emplace_back();
      parameter.name = name;
      parameter.place = place;
      RETURN_IF_ERROR(ReadWandbParameter(*entry.value, &parameter, &sweep_));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMetric() {
    const YamlNode* metric = FindGroup(root_, "metric");
    if (metric == nullptr) return absl::OkStatus();
    for (const YamlNode::Entry& entry : metric->entries) {
      const Place place = {entry.position, "metric." + entry.key};
      if (entry.key == "name") {
        sweep_.measurement = entry.value->text;
        sweep_.measurement_place = {entry.position, ""};
      } else if (entry.key == "goal") {
        RETURN_IF_ERROR(sweep_.SetGoal({entry.value->position, place.path}, entry.value->text));
      } else {
        sweep_.Tell(place, entry.key == "target"
                               ? "a sweep does not end at a target; end it with `inlier cancel SWEEP` when a "
                                 "trial is there"
                               : "serves the search by results and is left out");
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
        sweep_.Tell({item->position, "command"},
                    word + " is left out; set the variable for the program in the worker's configuration");
      } else if (!word.starts_with("${")) {
        sweep_.command.push_back(word);
      }
    }
  }

  absl::Status ReadEarlyTerminate(const YamlNode::Entry& stop) {
    const Place place = {stop.position, "early_terminate"};
    const auto left_out = [&](const char* why) {
      sweep_.Tell(place, why);
      return absl::OkStatus();
    };
    if (TextOf(*stop.value, "type") != "hyperband")
      return left_out(
          "is not of the type hyperband and is left out; write `pruning` (docs/guides/search.md)");
    if (sweep_.measurement.empty())
      return left_out("is left out, because there is no metric to compare; write `pruning` with one");
    ASSIGN_OR_RETURN(const double eta, NumberAt(*stop.value, place, "eta", 3));
    if (eta <= 1 || eta > 1000)
      return ForeignError({stop.position, "early_terminate.eta"},
                          "is not above 1 and at most 1000; give another");
    ASSIGN_OR_RETURN(double first, NumberAt(*stop.value, place, "min_iter", 0));
    ASSIGN_OR_RETURN(const double last, NumberAt(*stop.value, place, "max_iter", 0));
    ASSIGN_OR_RETURN(const double brackets, NumberAt(*stop.value, place, "s", 1));
    if (last > 0) first = last;
    for (int i = 0; last > 0 && i < brackets && (i == 0 || first / eta >= 1); ++i) first /= eta;
    if (!(first >= 1 && first <= 1e9))
      return left_out("compares at no iteration and is left out; write `pruning` with asha.min_steps");
    const double reduction = std::max(2.0, std::round(eta)), step = std::floor(first);
    sweep_.asha = {{"min_steps", NumberValue(step, true)}, {"reduction", NumberValue(reduction, true)}};
    sweep_.Tell(
        place,
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
      sweep_.Tell({entry.position, entry.key},
                  known != kLeftOut.end() ? known->second
                                          : "is no key of W&B and is left out" + DidYouMean(entry.key, read));
    }
  }

  const YamlNode& root_;
  ForeignSweep sweep_;
};

}  // namespace

bool IsWandbSweep(const YamlNode& root) {
  return FindGroup(root, "parameters") != nullptr &&
         std::ranges::any_of(std::vector{"method", "metric", "program", "early_terminate", "run_cap"},
                             [&](const char* key) { return FindEntry(root, key) != nullptr; });
}

absl::StatusOr<ForeignSweep> ReadWandbSweep(const YamlNode& root) { return WandbReader(root).Read(); }

}  // namespace inlier
