#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/conversion.h"
#include "cli/convert/program_names.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr std::uint32_t kTrialsWithoutNumber = 20;  // As many as Optuna's sweeper runs.
constexpr std::uint32_t kSamplesMax = 100'000;
constexpr std::size_t kParametersMax = 1000;
constexpr std::ptrdiff_t kGroupsMax = 7;

std::string LabelText(const ForeignValue& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? FormatNumber(value.get<double>()) : value.dump();
}

// The type of inlier-program.yaml.
std::string TypeOf(const std::vector<ForeignValue>& values) {
  const auto all = [&](auto is) { return std::ranges::all_of(values, is); };
  constexpr double kIntegerMax = 2147483647;
  if (all([](const ForeignValue& v) { return v.is_boolean(); })) return "TRUE_OR_FALSE";
  if (all([](const ForeignValue& v) {
        return v.is_number_integer() && std::abs(v.get<double>()) <= kIntegerMax;
      }))
    return "INTEGER";
  return all([](const ForeignValue& v) { return v.is_number(); }) ? "NUMBER" : "TEXT";
}

class SweepMaker {
 public:
  explicit SweepMaker(ForeignSweep foreign) : foreign_(std::move(foreign)) {}

  absl::StatusOr<Conversion> Make(const std::string& stem, const std::string& program) {
    if (!program.empty() && ProgramNameOf(program) != program)
      return ForeignError(
          {{}, "--program"},
          Quoted(program) + " cannot name a program; use letters, digits, \"_\" and \"-\", a letter first");
    RETURN_IF_ERROR(CheckCounts());
    NameSweep(stem);
    NameProgram(program);
    if (foreign_.max_parallel) made_.sweep["max_parallel"] = *foreign_.max_parallel;
    MakeParameters();
    if (axes_.size() > Limits::kAxesMax)
      return ForeignError({foreign_.parameters.front().place.position, ""},
                          absl::StrCat(axes_.size(), " parameters vary, more than ", Limits::kAxesMax,
                                       "; give some of them one value"));
    ChoosePlan();
    TellApart();
    WriteSpace();
    WritePruning();
    made_.remarks = std::move(foreign_.remarks);
    std::ranges::stable_sort(made_.remarks, {}, [](const Remark& remark) {
      return std::pair(remark.position.line, remark.position.column);
    });
    return std::move(made_);
  }

 private:
  absl::Status CheckCounts() const {
    if (foreign_.parameters.empty()) return ForeignError({}, "the sweep has no parameters; give it some");
    for (const ForeignParameter& parameter : foreign_.parameters) {
      if (std::ranges::count(parameter.name, '.') > kGroupsMax)
        return ForeignError(parameter.place, "is deeper than 8 groups; move it up");
      if (parameter.values.size() > Limits::kValuesMax)
        return ForeignError(parameter.place,
                            absl::StrCat("has more than ", Limits::kValuesMax, " values; leave some out"));
    }
    if (foreign_.parameters.size() > kParametersMax)
      return ForeignError(
          {foreign_.parameters[kParametersMax].place.position, ""},
          absl::StrCat("more than ", kParametersMax, " parameters; leave out those that do not vary"));
    return absl::OkStatus();
  }

  void NameSweep(const std::string& stem) {
    std::string name = SweepNameOf(foreign_.name);
    if (!foreign_.name.empty() && name != foreign_.name)
      foreign_.description =
          foreign_.name + (foreign_.description.empty() ? "" : ": ") + foreign_.description;
    if (name.empty()) name = SweepNameOf(stem);
    made_.sweep["name"] = name.empty() ? "converted" : name;
    if (!foreign_.description.empty()) made_.sweep["description"] = foreign_.description;
  }

  void NameProgram(const std::string& wished) {
    std::string name = !wished.empty() ? wished : ProgramNameOf(foreign_.program);
    if (name.empty()) name = "train";
    made_.sweep["program"] = name;
    const bool unnamed = foreign_.program.empty();
    foreign_.Tell(
        foreign_.program_place,
        absl::StrCat(unnamed ? "the file does not name its program; it is called " + name +
                                   " (--program NAME changes that)"
                             : foreign_.program + " is called " + name,
                     ": inlier-program.yaml, beside the sweep or in the folder ", name,
                     ", declares its command, parameters and measurements (--description FILE writes a "
                     "draft); it reads its parameters from the file that INLIER_TRIAL names, in place of "
                     "arguments"));
    std::vector<std::string> command = foreign_.command;
    if (command.empty()) {
      command = {unnamed ? name + ".py" : foreign_.program};
      if (command[0].ends_with(".py")) command.insert(command.begin(), "python");
    }
    made_.program = {{"name", name}, {"command", command}};
  }

  bool sampled() const { return foreign_.plan != ForeignSweep::kGrid; }

  void MakeParameters() {
    std::vector<std::string> wished;
    for (const ForeignParameter& parameter : foreign_.parameters) wished.push_back(parameter.name);
    const std::vector<std::string> names = ParameterNames(wished);
    for (std::size_t i = 0; i < wished.size(); ++i) {
      const ForeignParameter& parameter = foreign_.parameters[i];
      if (names[i] != wished[i])
        foreign_.Tell(parameter.place, "is called " + names[i] +
                                           " here: names have letters, digits and \"_\", dots between "
                                           "groups, and no parameter is a group too");
      MakeParameter(parameter, names[i]);
    }
  }

  void MakeParameter(const ForeignParameter& parameter, const std::string& name) {
    const bool is_range = !parameter.range.is_null();
    if (is_range || !parameter.normal.is_null()) {
      axes_.push_back(
          {{"field", name}, {is_range ? "range" : "normal", is_range ? parameter.range : parameter.normal}});
      span_ = parameter.place;
      return Declare(name, is_range && parameter.range.contains("integer") ? "INTEGER" : "NUMBER");
    }
    Kept kept = KeepValues(parameter);
    if (kept.values.empty()) return;
    const std::string type = TypeOf(kept.values);
    if (type == "TEXT" &&
        !std::ranges::all_of(kept.values, [](const ForeignValue& v) { return v.is_string(); }))
      foreign_.Tell(parameter.place,
                    "has values of several types, which the program reads as texts; give them one type");
    Declare(name, type);
    if (kept.values.size() == 1) {
      base_.emplace_back(name, kept.values[0]);
      return;
    }
    points_ *= static_cast<double>(kept.values.size());
    ForeignValue axis = {{"field", name}, {"values", kept.values}};
    const bool alike =
        std::ranges::all_of(kept.weights, [&](double weight) { return weight == kept.weights[0]; });
    if (!alike) axis["weights"] = kept.weights;
    axes_.push_back(std::move(axis));
  }

  struct Kept {
    std::vector<ForeignValue> values;
    std::vector<double> weights;
  };

  // Each value once; with its weight, where a repeated one counts as often.
  Kept KeepValues(const ForeignParameter& parameter) {
    Kept kept;
    std::map<std::string, std::size_t> places;
    bool nothing = false, nested = false;
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
      ForeignValue value = parameter.values[i];
      const double weight = parameter.weights.empty() ? 1 : parameter.weights[i];
      nothing = nothing || value.is_null();
      nested = nested || value.is_structured();
      if (value.is_null() || weight == 0) continue;
      if (value.is_structured()) value = value.dump();
      const auto [place, is_new] = places.try_emplace(LabelText(value), kept.values.size());
      if (is_new) {
        kept.values.push_back(std::move(value));
        kept.weights.push_back(weight);
      } else {
        kept.weights[place->second] += weight;
      }
    }
    if (nothing)
      foreign_.Tell(parameter.place,
                    "null is left out, because a parameter always has a value; choose a number or word that "
                    "means none to the program");
    if (nested)
      foreign_.Tell(parameter.place,
                    "a list or mapping becomes a text of JSON, because a parameter has one value; let the "
                    "program read it so");
    return kept;
  }

  void Declare(const std::string& name, const std::string& type) {
    if (name != "seed") parameters_.emplace_back(name, ForeignValue{{"type", type}});
  }

  void ChoosePlan() {
    if (!sampled() && span_) {
      foreign_.plan = ForeignSweep::kSobol;
      foreign_.Tell(*span_,
                    "a grid has no points for a range, so points are sampled; give values in place of it for "
                    "a grid");
    }
    if (sampled() && !span_ && foreign_.trials.value_or(0) >= points_) {
      foreign_.plan = ForeignSweep::kGrid;
      foreign_.Tell(
          foreign_.trials_place,
          absl::StrCat(
              "is not less than the ", FormatNumber(points_),
              " points that there are, so all of them run, each once; an axis of `seed` repeats them"));
    } else if (!sampled() && foreign_.trials && *foreign_.trials < points_) {
      foreign_.plan = ForeignSweep::kRandom;
      foreign_.Tell(
          foreign_.trials_place,
          absl::StrCat("a grid always runs all of its ", FormatNumber(points_), " points, so ",
                       *foreign_.trials, " of them are drawn at random; remove `sampling` to run all"));
    }
    if (!foreign_.learner.empty())
      foreign_.Tell(foreign_.learner_place,
                    absl::StrCat(foreign_.learner, ": inlier draws all points before there are results; ",
                                 sampled() ? "here Sobol's sequence spreads them evenly over the same space"
                                           : "here all of them run",
                                 ": narrow the ranges by the results, and submit that as a further sweep"));
    if (sampled() && !axes_.empty()) LimitTrials();
  }

  void LimitTrials() {
    if (!foreign_.trials)
      foreign_.Tell(
          foreign_.trials_place,
          absl::StrCat("is not given, and a sweep has a number of samples: ", kTrialsWithoutNumber,
                       " are written; change `trials`, a larger number keeps those that are known"));
    if (foreign_.trials && *foreign_.trials > kSamplesMax)
      foreign_.Tell(foreign_.trials_place,
                    absl::StrCat("is more than ", kSamplesMax,
                                 ", which are written; make a second sweep with another seed"));
    foreign_.trials = std::min(foreign_.trials.value_or(kTrialsWithoutNumber), kSamplesMax);
  }

  // Of two axes, or parameters, with the same last word each has its whole name in tables and views.
  void TellApart() {
    const auto last = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
    std::map<std::string, int> times;
    for (const auto& [name, parameter] : parameters_) ++times[last(name)];
    for (auto& [name, parameter] : parameters_) {
      if (times[last(name)] > 1 && last(name) != name)
        parameter["column"] = absl::StrReplaceAll(name, {{".", "_"}});
    }
    for (ForeignValue& axis : axes_) {
      const std::string name = axis["field"];
      if (times[last(name)] > 1 && last(name) != name) axis["name"] = name;
    }
  }

  void WriteSpace() {
    if (!base_.empty()) made_.sweep["base"] = std::move(base_);
    made_.program["parameters"] = std::move(parameters_);
    if (axes_.empty()) return;
    if (!sampled())
      for (ForeignValue& axis : axes_) axis.erase("weights");
    made_.sweep["axes"] = std::move(axes_);
    if (!sampled()) return;
    ForeignValue& sampling =
        made_.sweep["sampling"][foreign_.plan == ForeignSweep::kSobol ? "sobol" : "random"];
    sampling["trials"] = *foreign_.trials;
    if (foreign_.seed) sampling["seed"] = *foreign_.seed;
  }

  void WritePruning() {
    if (foreign_.measurement.empty()) return;
    const std::string word = WordOf(foreign_.measurement);
    if (word != foreign_.measurement)
      foreign_.Tell(foreign_.measurement_place,
                    Quoted(foreign_.measurement) + " is called " + word +
                        " here: names of measurements have letters, digits and \"_\"");
    made_.program["measurements"][word]["better"] = foreign_.maximize ? "HIGHER" : "LOWER";
    if (foreign_.asha.is_null() || !made_.sweep.contains("axes")) return;
    made_.sweep["pruning"] = {{"measurement", word}};
    if (foreign_.maximize) made_.sweep["pruning"]["goal"] = "MAXIMIZE";
    made_.sweep["pruning"]["asha"] = foreign_.asha;
  }

  ForeignSweep foreign_;
  Conversion made_;
  ForeignValue::object_t base_, parameters_;
  std::vector<ForeignValue> axes_;
  double points_ = 1;          // Of the grid.
  std::optional<Place> span_;  // Of a parameter with a range or a normal distribution.
};

}  // namespace

absl::StatusOr<Conversion> MakeSweep(ForeignSweep foreign, const std::string& stem,
                                     const std::string& program) {
  return SweepMaker(std::move(foreign)).Make(stem, program);
}

}  // namespace inlier
