#include "cli/import/import_request.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/program_names.h"
#include "cli/import/curve_points.h"
#include "cli/import/measurement_words.h"
#include "spec/program/program_columns.h"
#include "spec/program/program_description.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/limits.h"
#include "spec/schema/struct_value.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

using google::protobuf::Value;

constexpr char kRun[] = "run", kSeed[] = "seed";
constexpr std::size_t kLabelBytesMax = 100;  // Of an axis.
constexpr int kColumnsShown = 6;
constexpr std::uint32_t kDecimals = 4;

// The names of the runs' settings or of their numbers, each once.
std::set<std::string> SettingsOf(const std::vector<ForeignRun>& runs) {
  std::set<std::string> names;
  for (const ForeignRun& run : runs) {
    for (const auto& [name, value] : run.parameters) names.insert(name);
  }
  return names;
}
std::set<std::string> NumberNamesOf(const std::vector<ForeignRun>& runs) {
  std::set<std::string> names;
  for (const ForeignRun& run : runs) {
    for (const auto& [name, value] : run.results) names.insert(name);
    for (const auto& [name, curve] : run.curves) names.insert(name);
  }
  return names;
}

bool IsInt32(double number) {
  return std::abs(number) <= std::numeric_limits<std::int32_t>::max() && number == std::trunc(number);
}

class ImportMaker {
 public:
  ImportMaker(ForeignRuns read, const v1::ImportMapping& mapping)
      : read_(std::move(read)), mapping_(mapping) {}

  absl::StatusOr<MadeImport> Make(const v1::ImportSource& source, const std::string& name) {
    if (read_.runs.empty())
      return absl::InvalidArgumentError(source.path() + ": has no runs; give another file or folder");
    made_.remarks = std::move(read_.remarks);
    RETURN_IF_ERROR(TakeMapping(source.path()));
    NameRuns();
    DropUnfinished();
    TellEmpty();
    NameSettings();
    NameNumbers();
    if (measurements_.empty())
      return absl::InvalidArgumentError(
          source.path() + ": no run that finished has a number; --unfinished takes those of the others, too");
    v1::SweepSpec& spec = *made_.request.mutable_spec();
    *spec.mutable_imported() = source;
    spec.set_name(name);
    RETURN_IF_ERROR(Describe(*spec.mutable_program(), source, name));
    RETURN_IF_ERROR(AddRuns());
    AddAxes(spec);
    AddTable(spec);
    Tell();
    return std::move(made_);
  }

 private:
  void Remark(std::string text) { made_.remarks.push_back(std::move(text)); }

  template <typename Names>
  static absl::Status CheckApart(const char* option, const Names& names, const char* other,
                                 const Names& others) {
    for (const std::string& name : names) {
      if (std::ranges::find(others, name) != others.end())
        return absl::InvalidArgumentError(
            absl::StrCat("--", option, " ", name, ": is in --", other, ", too; leave it out of one of them"));
    }
    return absl::OkStatus();
  }

  // Leaves out and renames; names that nothing has are refused.
  absl::Status TakeMapping(const std::string& path) {
    std::set<std::string> all = SettingsOf(read_.runs);
    all.merge(NumberNamesOf(read_.runs));
    const std::vector<std::string> known(all.begin(), all.end());
    const auto check = [&](const char* option, const std::string& name) {
      if (all.contains(name) || Ignores(mapping_, name)) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("--", option, " ", name, ": ", path,
                                                     " has nothing of that name", DidYouMean(name, known)));
    };
    for (const std::string& one : mapping_.parameters()) RETURN_IF_ERROR(check("parameters", one));
    for (const std::string& one : mapping_.measurements()) RETURN_IF_ERROR(check("measurements", one));
    for (const std::string& one : mapping_.lower()) RETURN_IF_ERROR(check("lower", one));
    for (const std::string& one : mapping_.higher()) RETURN_IF_ERROR(check("higher", one));
    for (const auto& [old, now] : mapping_.rename()) {
      RETURN_IF_ERROR(check("rename", old));
      if (old != now && all.contains(now) && !Ignores(mapping_, now) && !mapping_.rename().contains(now))
        return absl::InvalidArgumentError(absl::StrCat("--rename ", old, "=", now, ": ", path, " has a ", now,
                                                       ", too; rename or --ignore that one"));
    }
    if (mapping_.points() == 0)
      return absl::InvalidArgumentError("--points 0: a curve keeps 1 point or more");
    RETURN_IF_ERROR(CheckApart("parameters", mapping_.parameters(), "measurements", mapping_.measurements()));
    RETURN_IF_ERROR(CheckApart("lower", mapping_.lower(), "higher", mapping_.higher()));
    if (mapping_.has_seed()) RETURN_IF_ERROR(check("seed", mapping_.seed()));
    for (ForeignRun& run : read_.runs) {
      const auto ignored = [this](const auto& entry) { return Ignores(mapping_, entry.first); };
      std::erase_if(run.parameters, ignored);
      std::erase_if(run.results, ignored);
      std::erase_if(run.curves, ignored);
      for (auto& [name, curve] : run.curves) {
        Tidy(curve);
        if (!curve.empty()) run.results.try_emplace(name, curve.back().second);
      }
    }
    return absl::OkStatus();
  }

  void NameRuns() {
    std::map<std::string, int> seen;
    for (std::size_t i = 0; i < read_.runs.size(); ++i) {
      std::string& name = read_.runs[i].name;
      if (!IsUtf8(name)) name = ReplaceInvalidUtf8(name);
      if (name.empty()) name = absl::StrCat("run-", i + 1);
      name = CutUtf8(name, kLabelBytesMax - 10);
      for (char& c : name) c = absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c;
      if (const int number = ++seen[name]; number > 1) {
        Remark(absl::StrCat("several runs are named ", name, ": that of ", read_.runs[i].place, " is ", name,
                            " (", number, ") here"));
        absl::StrAppend(&name, " (", number, ")");
      }
    }
  }

  void TellEmpty() {
    std::vector<std::string> empty;
    for (const ForeignRun& run : read_.runs) {
      if (run.unfinished.empty() && run.results.empty()) empty.push_back(run.name);
    }
    if (!empty.empty())
      Remark(absl::StrCat(empty.size(), empty.size() == 1 ? " run has" : " runs have",
                          " no number: ", ListOfNames(empty)));
  }

  void DropUnfinished() {
    std::size_t unfinished = 0;
    for (ForeignRun& run : read_.runs) {
      if (run.unfinished.empty()) continue;
      ++unfinished;
      if (mapping_.unfinished()) {
        run.unfinished.clear();
        continue;
      }
      run.results.clear();
      run.curves.clear();
    }
    if (unfinished > 0)
      Remark(absl::StrCat(unfinished, unfinished == 1 ? " run did not finish" : " runs did not finish",
                          mapping_.unfinished()
                              ? ": the numbers are taken all the same"
                              : ": FAILED here, without numbers (--unfinished takes them)"));
  }

  // The name of `wish` here, which nothing else has.
  std::string FreeName(const std::string& wish, bool of_measurement) {
    const auto renamed = mapping_.rename().find(wish);
    const std::string first = WordOf(renamed == mapping_.rename().end() ? wish : renamed->second);
    std::string name = first;
    const auto taken = [&](const std::string& one) {
      const std::string lower = absl::AsciiStrToLower(one);
      if (taken_.contains(lower) || lower == kSeed || lower == kRun) return true;
      if (std::ranges::find(FixedColumns(), lower) != FixedColumns().end()) return true;
      if (!of_measurement) return OursOfName(lower) != nullptr;
      return std::ranges::find(SpecColumns(), lower, &SpecColumn::name) != SpecColumns().end();
    };
    for (int i = 2; taken(name); ++i) name = absl::StrCat(first, "_", i);
    taken_.insert(absl::AsciiStrToLower(name));
    if (name != wish) Remark(absl::StrCat(wish, " is named ", name, " here"));
    return name;
  }

  // Those first that keep their name, so that no other takes it.
  std::vector<std::string> InOrder(const std::set<std::string>& names) const {
    std::vector<std::string> order(names.begin(), names.end());
    std::ranges::stable_partition(order, [this](const std::string& name) {
      return mapping_.rename().contains(name) || WordOf(name) == name;
    });
    return order;
  }

  void NameSettings() {
    for (const std::string& wish : InOrder(SettingsOf(read_.runs))) {
      const bool seed = mapping_.has_seed() ? wish == mapping_.seed() : absl::EqualsIgnoreCase(wish, kSeed);
      settings_[wish] =
          seed && !mapping_.rename().contains(wish) ? kSeed : FreeName(wish, /*of_measurement=*/false);
    }
  }
  void NameNumbers() {
    for (const std::string& wish : InOrder(NumberNamesOf(read_.runs)))
      measurements_[wish] = FreeName(wish, /*of_measurement=*/true);
  }

  v1::ProgramMeasurement::Better BetterOf(const std::string& wish) const {
    const auto has = [&wish](const auto& names) { return std::ranges::find(names, wish) != names.end(); };
    if (has(mapping_.lower())) return v1::ProgramMeasurement::LOWER;
    if (has(mapping_.higher())) return v1::ProgramMeasurement::HIGHER;
    const Better guess = BetterOfName(measurements_.at(wish));
    return guess == Better::kLower    ? v1::ProgramMeasurement::LOWER
           : guess == Better::kHigher ? v1::ProgramMeasurement::HIGHER
                                      : v1::ProgramMeasurement::NEITHER;
  }

  // NUMBER, INTEGER or TRUE_OR_FALSE where all runs have such a value, else TEXT.
  v1::ProgramParameter::Type TypeOf(const std::string& wish) {
    std::size_t all = 0, numbers = 0, whole = 0, truths = 0;
    const ForeignRun* text = nullptr;
    for (const ForeignRun& run : read_.runs) {
      const auto at = run.parameters.find(wish);
      if (at == run.parameters.end()) continue;
      ++all;
      const bool number = at->second.has_number_value() && std::isfinite(at->second.number_value());
      numbers += number;
      whole += number && IsInt32(at->second.number_value());
      truths += at->second.has_bool_value();
      if (!number && text == nullptr) text = &run;
    }
    if (whole == all) return v1::ProgramParameter::INTEGER;
    if (numbers == all) return v1::ProgramParameter::NUMBER;
    if (truths == all) return v1::ProgramParameter::TRUE_OR_FALSE;
    if (numbers > 0)
      Remark(absl::StrCat(wish, " is a number in ", numbers, " of ", all, " runs, and ",
                          Quoted(ValueText(text->parameters.at(wish))), " in ", text->place,
                          ": a text here"));
    return v1::ProgramParameter::TEXT;
  }

  absl::Status Describe(v1::ProgramUse& program, const v1::ImportSource& source, const std::string& name) {
    v1::ProgramDescription& description = *program.mutable_description();
    const std::string word = ProgramNameOf(name + ".");
    program.set_name(word.empty() ? "imported" : word);
    program.set_digest(Sha256Hex("imported\n" + source.sha256()));
    description.set_name(program.name());
    for (const char* part : {"inlier", "import"}) description.add_command(part);
    v1::ProgramParameter run;
    run.set_type(v1::ProgramParameter::TEXT);
    run.set_comment("Name of the run, where it was made.");
    (*description.mutable_parameters())[kRun] = run;
    for (const auto& [wish, here] : settings_) {
      if (here == kSeed) continue;
      v1::ProgramParameter& parameter = (*description.mutable_parameters())[here];
      parameter.set_type(TypeOf(wish));
      if (wish != here) parameter.set_comment(std::string(CutUtf8(ReplaceInvalidUtf8(wish), 256)));
    }
    for (const auto& [wish, here] : measurements_) {
      v1::ProgramMeasurement& measurement = (*description.mutable_measurements())[here];
      measurement.set_better(BetterOf(wish));
      if (const MeasurementInfo* ours = OursOfName(here)) measurement.set_unit(std::string(ours->unit));
    }
    const absl::Status status = FindProgramProblems(description).ToStatus();
    if (status.ok()) return status;
    return absl::InvalidArgumentError(absl::StrCat(source.path(), ": ", status.message(),
                                                   "; leave names out with --ignore, * stands for anything"));
  }

  Value SettingOf(const std::string& here, const Value& value) const {
    const auto& parameters = made_.request.spec().program().description().parameters();
    const auto at = parameters.find(here);
    if (at == parameters.end() || at->second.type() != v1::ProgramParameter::TEXT || value.has_string_value())
      return value;
    Value text;
    text.set_string_value(ValueText(value));
    return text;
  }

  absl::Status AddRuns() {
    ASSIGN_OR_RETURN(const std::size_t points, PointsOfACurve(read_.runs, mapping_.points(), made_.remarks));
    for (const ForeignRun& run : read_.runs) {
      v1::ImportedRun& made = *made_.request.add_runs();
      made.set_name(run.name);
      auto& parameters = *made.mutable_parameters()->mutable_fields();
      parameters[kRun].set_string_value(run.name);
      for (const auto& [wish, value] : run.parameters) {
        const std::string& here = settings_.at(wish);
        parameters[here] = SettingOf(here, value);
        const bool fits =
            value.has_number_value() && value.number_value() == std::trunc(value.number_value()) &&
            value.number_value() >= 0 && value.number_value() <= std::numeric_limits<std::uint32_t>::max();
        if (here == kSeed && !fits)
          return absl::InvalidArgumentError(
              absl::StrCat(run.place, ": ", wish, ": ", Quoted(ValueText(value)),
                           " is not a seed, a whole number from 0 to 4294967295; --rename ", wish,
                           "=their_seed keeps it as a setting"));
        if (value.has_string_value() && !IsUtf8(value.string_value()))
          return absl::InvalidArgumentError(
              absl::StrCat(run.place, ": ", wish, ": is not UTF-8; --ignore ", wish));
      }
      if (!run.unfinished.empty()) made.set_failed(absl::StrCat(run.unfinished, ", as its source says"));
      for (const auto& [wish, value] : run.results) (*made.mutable_results())[measurements_.at(wish)] = value;
      for (const auto& [wish, curve] : run.curves) {
        v1::ImportedCurve& points_of = *made.add_curves();
        points_of.set_name(measurements_.at(wish));
        for (const auto& [step, value] : Thinned(curve, points)) {
          points_of.add_steps(step);
          points_of.add_values(value);
        }
      }
    }
    return absl::OkStatus();
  }

  // The values of a setting over the runs as texts; "" where a run has none.
  std::vector<std::string> LabelsOf(const std::string& here) const {
    std::vector<std::string> labels;
    for (const v1::ImportedRun& run : made_.request.runs()) {
      const auto at = run.parameters().fields().find(here);
      labels.push_back(at == run.parameters().fields().end() ? "" : ValueText(at->second));
    }
    return labels;
  }

  static bool FitsAnAxis(const std::string& label) {
    return label.size() <= kLabelBytesMax && std::ranges::none_of(label, [](char c) {
             return absl::ascii_iscntrl(static_cast<unsigned char>(c));
           });
  }

  void AddAxis(v1::SweepSpec& spec, const std::string& here) {
    std::map<std::string, const Value*> values;  // By label.
    std::vector<const Value*> order;
    for (const v1::ImportedRun& run : made_.request.runs()) {
      const auto at = run.parameters().fields().find(here);
      if (at == run.parameters().fields().end()) continue;
      if (values.emplace(ValueText(at->second), &at->second).second) order.push_back(&at->second);
    }
    std::ranges::stable_sort(order, [](const Value* a, const Value* b) {
      return a->has_number_value() && b->has_number_value() && a->number_value() < b->number_value();
    });
    v1::Axis& axis = *spec.add_axes();
    axis.set_field(here);
    for (const Value* value : order) *axis.add_values() = *value;
  }

  // One for each setting that varies, and one of the runs' names where those do not tell all runs apart.
  void AddAxes(v1::SweepSpec& spec) {
    std::vector<std::string> points(read_.runs.size());
    std::vector<std::string> long_ones;
    std::set<std::string> names;
    for (const auto& [wish, here] : settings_) names.insert(here);
    for (const std::string& here : names) {
      const std::vector<std::string> labels = LabelsOf(here);
      if (std::set<std::string>(labels.begin(), labels.end()).size() < 2) continue;
      if (!std::ranges::all_of(labels, FitsAnAxis) || spec.axes_size() + 1 >= Limits::kAxesMax) {
        long_ones.push_back(here);
        continue;
      }
      AddAxis(spec, here);
      for (std::size_t i = 0; i < points.size(); ++i) absl::StrAppend(&points[i], labels[i], "\n");
    }
    if (!long_ones.empty())
      Remark(absl::StrCat("settings, but not axes of tables, for they are too long or too many: ",
                          ListOfNames(long_ones)));
    if (std::set<std::string>(points.begin(), points.end()).size() < points.size() || spec.axes().empty())
      AddAxis(spec, kRun);
  }

  void AddTable(v1::SweepSpec& spec) const {
    v1::TableSpec& table = *spec.mutable_table();
    for (const v1::Axis& axis : spec.axes()) {
      if (axis.field() != kSeed) table.add_rows(axis.field());
    }
    std::set<std::string> shown;
    for (const ForeignRun& run : read_.runs) {
      for (const auto& [wish, value] : run.results) {
        if (table.columns_size() == kColumnsShown || !shown.insert(wish).second) continue;
        v1::TableColumn& column = *table.add_columns();
        column.set_measurement(measurements_.at(wish));
        column.set_decimals(kDecimals);
      }
    }
    if (table.columns().empty()) spec.clear_table();
  }

  void Tell() {
    std::vector<std::string> settings, numbers;
    for (const auto& [wish, here] : settings_) settings.push_back(here);
    for (const auto& [wish, here] : measurements_) {
      const auto better = made_.request.spec().program().description().measurements().at(here).better();
      numbers.push_back(absl::StrCat(here, better == v1::ProgramMeasurement::LOWER    ? " (lower is better)"
                                           : better == v1::ProgramMeasurement::HIGHER ? " (higher is better)"
                                                                                      : ""));
    }
    Remark("settings: " +
           (settings.empty() ? std::string("none but the names of the runs") : ListOfNames(settings)));
    Remark("results: " + ListOfNames(numbers));
  }

  ForeignRuns read_;
  const v1::ImportMapping& mapping_;
  MadeImport made_;
  std::set<std::string> taken_;                                 // Names here, in lower case.
  std::map<std::string, std::string> settings_, measurements_;  // Name there -> name here.
};

}  // namespace

absl::StatusOr<MadeImport> MakeImport(ForeignRuns read, const v1::ImportMapping& mapping,
                                      const v1::ImportSource& source, const std::string& name) {
  return ImportMaker(std::move(read), mapping).Make(source, name);
}

}  // namespace inlier
