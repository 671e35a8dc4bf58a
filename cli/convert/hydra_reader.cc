#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/foreign_readers.h"
#include "cli/convert/hydra_value.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

const std::vector<std::string> kSweeperKeys = {"_target_", "params",         "search_space",    "n_trials",
                                               "n_jobs",   "sampler",        "direction",       "study_name",
                                               "storage",  "max_batch_size", "max_failure_rate"};

// The mapping that says what is swept, or nullptr.
const YamlNode* SweeperOf(const YamlNode& root) {
  const YamlNode* hydra = FindGroup(root, "hydra");
  if (hydra != nullptr) return FindGroup(*hydra, "sweeper");
  const bool has_space = FindGroup(root, "params") != nullptr || FindGroup(root, "search_space") != nullptr;
  const bool is_sweeper =
      std::ranges::any_of(std::vector{"n_trials", "sampler", "direction", "study_name", "max_batch_size"},
                          [&](const char* key) { return FindEntry(root, key) != nullptr; });
  return has_space && is_sweeper ? &root : nullptr;
}

// What the defaults list names for a group: of `- override /hydra/sweeper: optuna` it is "optuna".
std::string DefaultOfGroup(const YamlNode& root, const std::string& group) {
  const YamlNode::Entry* defaults = FindEntry(root, "defaults");
  if (defaults == nullptr) return "";
  for (const auto& item : defaults->value->items) {
    for (const YamlNode::Entry& entry : item->entries) {
      absl::string_view key = entry.key;
      absl::ConsumePrefix(&key, "override ");
      absl::ConsumePrefix(&key, "/");
      if (key == group) return entry.value->text;
    }
  }
  return "";
}

// "optuna.samplers.TPESampler" -> "tpe".
std::string SamplerWord(const std::string& target) {
  std::string word = absl::AsciiStrToLower(target.substr(target.rfind('.') + 1));
  word = std::string(absl::StripSuffix(word, "sampler"));
  return word == "quasimontecarlo" ? "qmc" : word;
}

class HydraReader {
 public:
  HydraReader(const YamlNode& root, const YamlNode& sweeper)
      : root_(root), sweeper_(sweeper), prefix_(&root == &sweeper ? "" : "hydra.sweeper.") {}

  absl::StatusOr<ForeignSweep> Read() {
    sweep_.name = TextOf(sweeper_, "study_name");
    if (absl::StrContains(sweep_.name, "${")) sweep_.name.clear();
    const std::string target = TextOf(sweeper_, "_target_"), group = DefaultOfGroup(root_, "hydra/sweeper");
    basic_ = (target.empty() || absl::StrContains(target, "BasicSweeper")) &&
             (group.empty() || group == "basic") && FindEntry(sweeper_, "n_trials") == nullptr &&
             FindEntry(sweeper_, "search_space") == nullptr && FindEntry(sweeper_, "sampler") == nullptr;
    if (!basic_) RETURN_IF_ERROR(ReadSampler());
    RETURN_IF_ERROR(ReadCounts());
    RETURN_IF_ERROR(ReadSpace());
    RETURN_IF_ERROR(ReadObjective());
    TellOfTheRest();
    return std::move(sweep_);
  }

 private:
  Place At(SourceMap::Position position, const std::string& key) const { return {position, prefix_ + key}; }
  // Of a key, or of the whole where it is not there.
  Place At(const std::string& key) const {
    const auto* entry = FindEntry(sweeper_, key);
    return At(entry != nullptr ? entry->position : sweeper_.position, key);
  }

  absl::Status ReadSampler() {
    sweep_.plan = ForeignSweep::kSobol;
    const YamlNode* sampler = FindGroup(sweeper_, "sampler");
    std::string word = sampler == nullptr ? "" : SamplerWord(TextOf(*sampler, "_target_"));
    if (word.empty()) word = DefaultOfGroup(root_, "hydra/sweeper/sampler");
    if (word.empty()) word = "tpe";
    if (word == "grid") {
      sweep_.plan = ForeignSweep::kGrid;
    } else if (word == "random") {
      sweep_.plan = ForeignSweep::kRandom;
    } else if (word != "qmc") {
      sweep_.learner = word;
      sweep_.learner_place = At("sampler");
    }
    const YamlNode::Entry* seed = sampler == nullptr ? nullptr : FindEntry(*sampler, "seed");
    if (seed == nullptr || seed->value->kind == YamlNode::kNull) return absl::OkStatus();
    const Place place = At(seed->position, "sampler.seed");
    if (absl::StartsWith(seed->value->text, "${")) {
      sweep_.Tell(place,
                  "refers to another setting and is left out; write the number as `seed` of the sampling");
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(sweep_.seed, CountOf(*seed, place.path, 0));
    return absl::OkStatus();
  }

  absl::Status ReadCounts() {
    sweep_.trials_place = At("n_trials");
    if (const auto* trials = FindEntry(sweeper_, "n_trials")) {
      ASSIGN_OR_RETURN(sweep_.trials, CountOf(*trials, sweep_.trials_place.path, 1));
    }
    for (const char* key : {"n_jobs", "max_batch_size"}) {
      const auto* jobs = FindEntry(sweeper_, key);
      if (jobs == nullptr) continue;
      const ForeignValue value = ValueOf(*jobs->value);
      if (value == 1) {
        sweep_.Tell(At(key),
                    "1 is not kept: as many trials run as the workers have slots; `max_parallel: 1` runs one "
                    "at a time");
      } else if (value.is_number_integer() && value > 1 && value <= 1'000'000) {
        sweep_.max_parallel = value.get<std::uint32_t>();
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadSpace() {
    const YamlNode* params = FindGroup(sweeper_, "params");
    const YamlNode* space = FindGroup(sweeper_, "search_space");
    if (params != nullptr) {
      for (const YamlNode::Entry& entry : params->entries) RETURN_IF_ERROR(ReadParam(entry));
      if (space != nullptr)
        sweep_.Tell(At(space->position, "search_space"),
                    "is left out, as Hydra does where there is `params`");
    } else if (space != nullptr) {
      for (const YamlNode::Entry& entry : space->entries) RETURN_IF_ERROR(ReadDistribution(entry));
    } else {
      return ForeignError(
          At("params"),
          "is missing, so nothing is swept; write there what the command line has after --multirun: "
          "params: {lr: \"0.001,0.01\"}");
    }
    return absl::OkStatus();
  }

  ForeignParameter& NewParameter(const YamlNode::Entry& entry, const std::string& group) {
    ForeignParameter& parameter = sweep_.parameters.emplace_back();
    parameter.name = entry.key.substr(std::min(entry.key.find_first_not_of('+'), entry.key.size()));
    parameter.place = At(entry.position, group + entry.key);
    return parameter;
  }

  absl::Status ReadParam(const YamlNode::Entry& entry) {
    if (entry.key.starts_with('~')) {
      sweep_.Tell(At(entry.position, "params." + entry.key),
                  "removes a setting, and parameters always have a value; let the program do without it");
      return absl::OkStatus();
    }
    ForeignParameter& parameter = NewParameter(entry, "params.");
    if (entry.value->kind != YamlNode::kScalar) {
      parameter.values = {ValueOf(*entry.value)};
      return absl::OkStatus();
    }
    const Place place = {entry.value->position, parameter.place.path};
    const absl::StatusOr<HydraValue> value = ParseHydraValue(entry.value->text);
    if (!value.ok()) return ForeignError(place, value.status().message());
    const auto refers = std::ranges::find_if(value->values, [](const ForeignValue& one) {
      return one.is_string() && absl::StrContains(one.get<std::string>(), "${");
    });
    if (refers != value->values.end())
      sweep_.Tell(place, Quoted(refers->get<std::string>()) +
                             " refers to another setting, which nobody resolves here; write the value");
    return Fill(*value, &parameter);
  }

  absl::Status Fill(const HydraValue& value, ForeignParameter* parameter) {
    if (value.kind == HydraValue::kSingle || value.kind == HydraValue::kChoice) {
      parameter->values = value.values;
      return absl::OkStatus();
    }
    const bool is_range = value.kind == HydraValue::kRange;
    // Optuna takes the end of a range too, but not in a grid, nor where it is shuffled.
    if (is_range && (basic_ || sweep_.plan == ForeignSweep::kGrid || value.shuffled || value.step < 0)) {
      parameter->values = value.Listed(Limits::kValuesMax);
      if (!parameter->values.empty() && parameter->values.size() <= Limits::kValuesMax)
        return absl::OkStatus();
      return ForeignError(parameter->place, absl::StrCat("has no values, or more than ", Limits::kValuesMax,
                                                         "; give another start, stop or step"));
    }
    const bool log = !is_range && std::ranges::find(value.tags, "log") != value.tags.end();
    return FillRange(value, log, is_range ? value.step : 0, parameter);
  }

  // `step` 0: any number between the ends.
  absl::Status FillRange(const HydraValue& value, bool log, double step, ForeignParameter* parameter) {
    const auto number = [&](double exact) {
      return NumberValue(value.whole ? std::trunc(exact) : exact, value.whole);
    };
    if (value.start == value.stop) {
      parameter->values = {number(value.start)};
      return absl::OkStatus();
    }
    if (value.start > value.stop)
      return ForeignError(parameter->place, "has its larger end first; exchange the two");
    if (log && value.start <= 0)
      return ForeignError(parameter->place, "is logarithmic and begins at 0 or less; raise its beginning");
    parameter->range = {{"min", number(value.start)}, {"max", number(value.stop)}};
    if (log) parameter->range["log"] = true;
    if (value.whole) parameter->range["integer"] = true;
    if (step > 0 && !(value.whole && step == 1)) parameter->range["step"] = number(step);
    return absl::OkStatus();
  }

  // The older form: {type: float, low: 0, high: 1}.
  absl::Status ReadDistribution(const YamlNode::Entry& entry) {
    ForeignParameter& parameter = NewParameter(entry, "search_space.");
    const Place& place = parameter.place;
    const YamlNode& node = *entry.value;
    const std::string type = TextOf(node, "type");
    if (type == "categorical") {
      if (const auto* choices = FindEntry(node, "choices")) parameter.values = ItemsOf(*choices->value);
      return parameter.values.empty() ? ForeignError(place, "has no choices; write choices: [...]")
                                      : absl::OkStatus();
    }
    if (type != "int" && type != "float")
      return ForeignError(place, "has no type among int, float and categorical; give it");
    HydraValue value;
    value.kind = HydraValue::kInterval;
    value.whole = type == "int";
    ASSIGN_OR_RETURN(value.start, NumberAt(node, place, "low"));
    ASSIGN_OR_RETURN(value.stop, NumberAt(node, place, "high"));
    if (const auto* log = FindEntry(node, "log"); log != nullptr && ValueOf(*log->value) == true)
      value.tags = {"log"};
    const auto* step = FindEntry(node, "step");
    // Optuna takes no step of a logarithmic one.
    if (step == nullptr || step->value->kind == YamlNode::kNull || !value.tags.empty())
      return Fill(value, &parameter);
    value.kind = HydraValue::kRange;
    ASSIGN_OR_RETURN(value.step, NumberAt(node, place, "step"));
    if (value.step <= 0)
      return ForeignError({step->position, place.path + ".step"}, "is not above 0; give a larger one");
    return Fill(value, &parameter);
  }

  absl::Status ReadObjective() {
    for (const char* key : {"objective", "optimized_metric"}) {
      const auto* named = FindEntry(root_, key);
      if (named == nullptr || named->value->kind != YamlNode::kScalar) continue;
      sweep_.measurement = named->value->text;
      sweep_.measurement_place = {named->position, ""};
    }
    const auto* direction = FindEntry(sweeper_, "direction");
    if (direction == nullptr || direction->value->kind == YamlNode::kNull) return absl::OkStatus();
    const Place place = At("direction");
    if (direction->value->kind == YamlNode::kList) {
      sweep_.Tell(place,
                  "has several objectives; each is a measurement that the program reports, and a column of "
                  "tables");
      return absl::OkStatus();
    }
    if (sweep_.measurement.empty()) {
      sweep_.measurement = "objective";
      sweep_.measurement_place = {direction->position, ""};
      sweep_.Tell(place,
                  "is of the number that the function returns; the program reports it as a measurement, "
                  "objective for example");
    }
    return sweep_.SetGoal({direction->value->position, place.path}, direction->value->text);
  }

  void TellOfTheRest() {
    for (const YamlNode::Entry& entry : sweeper_.entries) {
      if (&root_ == &sweeper_ && entry.key == "defaults") continue;
      if (entry.key == "storage" && entry.value->kind != YamlNode::kNull) {
        sweep_.Tell(At("storage"), "is left out; the trials are in the database of inlier");
      } else if (entry.key == "max_failure_rate") {
        sweep_.Tell(At("max_failure_rate"),
                    "is left out; `stop_after_failures: 1` or `stop_after_failure_ratio: 0.1` ends a sweep "
                    "that fails");
      } else if (std::ranges::find(kSweeperKeys, entry.key) == kSweeperKeys.end()) {
        sweep_.Tell(At(entry.key), "serves the search of Hydra's plugin and is left out");
      }
    }
    if (&root_ == &sweeper_) return;
    TellOfGroup(
        *FindGroup(root_, "hydra"), "hydra.", {"sweeper", "mode"},
        "is about how Hydra runs its jobs and is left out; workers start the trials and keep their files");
    TellOfGroup(root_, "", {"hydra", "optimized_metric"},
                "stays in this file, which the program goes on reading: list it under `files` of "
                "inlier-program.yaml, so that another content makes other trials");
  }

  // One remark on all keys of the mapping but those.
  void TellOfGroup(const YamlNode& group, const std::string& prefix, const std::set<std::string>& but,
                   const char* text) {
    constexpr std::size_t kShown = 4;
    std::vector<std::string> names;
    Place place;
    for (const YamlNode::Entry& entry : group.entries) {
      if (but.contains(entry.key)) continue;
      if (names.empty()) place.position = entry.position;
      names.push_back(prefix + entry.key);
    }
    if (names.empty()) return;
    const std::size_t shown = std::min(names.size(), kShown);
    place.path = absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", ");
    if (names.size() > shown) absl::StrAppend(&place.path, " and ", names.size() - shown, " more");
    sweep_.Tell(place, text);
  }

  const YamlNode& root_;
  const YamlNode& sweeper_;
  const std::string prefix_;
  bool basic_ = false;
  ForeignSweep sweep_;
};

}  // namespace

bool IsHydraConfiguration(const YamlNode& root) {
  return FindGroup(root, "hydra") != nullptr || SweeperOf(root) != nullptr;
}

absl::StatusOr<ForeignSweep> ReadHydraSweep(const YamlNode& root) {
  const YamlNode* sweeper = SweeperOf(root);
  if (sweeper == nullptr)
    return ForeignError(
        {FindEntry(root, "hydra")->position, "hydra"},
        "has no sweeper with params, so nothing is swept; write there what the command line has after "
        "--multirun: hydra: {sweeper: {params: {lr: \"0.001,0.01\"}}}");
  return HydraReader(root, *sweeper).Read();
}

}  // namespace inlier
