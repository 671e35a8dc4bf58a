#include "spec/sweep/table_columns.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/program/program_description.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/struct_value.h"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

using google::protobuf::Value;

// The headings of an entry of mean_of, one or a list.
std::vector<std::string> HeadingsOf(const Value& entry) {
  std::vector<std::string> headings;
  if (entry.kind_case() != Value::kListValue) return {ValueText(entry)};
  for (const Value& heading : entry.list_value().values()) headings.push_back(ValueText(heading));
  return headings;
}

class FormChecker {
 public:
  FormChecker(const v1::TableSpec& table, const MeasurementList& measurements, Problems* problems)
      : table_(table), measurements_(measurements), problems_(problems) {
    for (const v1::TableColumn& column : table.columns()) headings_.push_back(HeadingOf(column));
  }

  void Check() {
    for (int i = 0; i < table_.columns_size(); ++i) {
      const v1::TableColumn& column = table_.columns(i);
      const std::string path = ItemPath("table.columns", i);
      if (column.mean_of_size() > 0) {
        CheckMean(column, path);
      } else if (!column.has_measurement()) {
        problems_->Add(path, "give a measurement, such as {measurement: perplexity}, or mean_of");
      } else {
        CheckMeasurement(column, path);
      }
    }
    for (int i = 0; i < table_.correlate_size(); ++i) {
      const v1::RankCorrelation& correlation = table_.correlate(i);
      const std::string path = ItemPath("table.correlate", i);
      CheckCorrelated(correlation, correlation.x(), path + ".x");
      CheckCorrelated(correlation, correlation.y(), path + ".y");
    }
  }

 private:
  void CheckMean(const v1::TableColumn& column, const std::string& path) {
    if (column.has_measurement() || !column.where().empty() || column.has_statistic() ||
        column.has_best_of() || column.mean_over_size() > 0) {
      problems_->Add(
          path, "with mean_of only heading and decimals are given; the columns that it names have the rest");
    }
    if (!column.has_heading())
      problems_->Add(path + ".heading", "is missing: a mean of columns has no name of its own");
    for (int i = 0; i < column.mean_of_size(); ++i) {
      const std::string place = ItemPath(path + ".mean_of", i);
      const std::vector<std::string> headings = HeadingsOf(column.mean_of(i));
      if (headings.empty()) problems_->Add(place, "is empty; give headings of columns");
      for (const std::string& heading : headings) {
        const int found = CheckHeading(heading, place);
        if (found >= 0 && table_.columns(found).mean_of_size() > 0)
          problems_->Add(place, absl::StrCat("\"", heading, "\" is itself a mean of columns; name those"));
      }
    }
  }

  int CheckHeading(const std::string& heading, const std::string& path) {
    const int found = FindColumn(table_, heading);
    if (found < 0) {
      problems_->Add(
          path, absl::StrCat("no column has the heading \"", heading, "\"", DidYouMean(heading, headings_)));
    } else if (std::ranges::count(headings_, heading) > 1) {
      problems_->Add(path,
                     absl::StrCat("several columns have the heading \"", heading, "\"; give each its own"));
    }
    return found;
  }

  void CheckCorrelated(const v1::RankCorrelation& correlation, const std::string& heading,
                       const std::string& path) {
    const int found = CheckHeading(heading, path);
    if (found < 0 || correlation.points() != v1::RankCorrelation::TRAININGS) return;
    const v1::TableColumn& column = table_.columns(found);
    if (column.mean_of_size() > 0 || column.mean_over_size() > 0)
      problems_->Add(path,
                     absl::StrCat("\"", heading, "\" is a mean over several trainings; correlate ROWS"));
  }

  void CheckMeasurement(const v1::TableColumn& column, const std::string& path) {
    const MeasurementInfo* info = CheckFinal(column.measurement(), path + ".measurement");
    if (info == nullptr) return;
    if (column.statistic() == v1::TableColumn::BEST && info->better == Better::kNone) {
      problems_->Add(
          path + ".statistic",
          absl::StrCat(column.measurement(), " has no better direction, thus no best; use MEAN or MEDIAN"));
    }
    if (!column.has_best_of()) return;
    if (column.best_of().over_size() == 0)
      problems_->Add(path + ".best_of.over", "is missing: give the axes of the grid, such as [rate, batch]");
    if (column.best_of().has_by()) info = CheckFinal(column.best_of().by(), path + ".best_of.by");
    if (info != nullptr && info->better == Better::kNone) {
      problems_->Add(
          path + ".best_of.by",
          absl::StrCat(std::string(info->name), " has no better direction and cannot choose; name another"));
    }
  }

  const MeasurementInfo* CheckFinal(const std::string& name, const std::string& path) {
    std::vector<std::string> known;
    for (const MeasurementInfo& info : measurements_.all()) {
      if (!info.final || info.axis == "site") continue;
      if (info.name == name) return &info;
      known.emplace_back(info.name);
    }
    problems_->Add(
        path, absl::StrCat("\"", name, "\" is not a final measurement of a trial", DidYouMean(name, known)));
    return nullptr;
  }

  const v1::TableSpec& table_;
  const MeasurementList& measurements_;
  Problems* problems_;
  std::vector<std::string> headings_;
};

using Where = google::protobuf::Map<std::string, Value>;

// A number that some trial must have, or every one.
struct Wanted {
  std::string path;
  std::string measurement;
  std::vector<const Where*> where = {};
  bool of_every = false;
  int trials = 0;  // Seen so far, and those of them that measure it.
  int measured = 0;
};

bool IsWanted(const Value& wanted, const std::string& label) {
  if (wanted.kind_case() != Value::kListValue) return ValueText(wanted) == label;
  return std::ranges::any_of(wanted.list_value().values(),
                             [&label](const auto& one) { return ValueText(one) == label; });
}

// False too for a column of the view `trials`, and for a label that is the same number in other digits.
bool Matches(const Where& where, const PointLabels& labels) {
  return std::ranges::all_of(where, [&labels](const auto& condition) {
    return std::ranges::any_of(labels, [&condition](const auto& label) {
      return label.first == condition.first && IsWanted(condition.second, label.second);
    });
  });
}

bool NeedsMore(const std::string& measurement) {
  const MeasurementInfo* info = FindMeasurement(measurement);
  return info != nullptr && info->measure > v1::EvaluationSpec::SCORES;
}

// Of a search the columns and figures are not looked at: its trials are not known yet.
std::vector<Wanted> AllWanted(const v1::SweepSpec& sweep) {
  std::vector<Wanted> all;
  const auto add = [&all](Wanted wanted) {
    if (NeedsMore(wanted.measurement)) all.push_back(std::move(wanted));
  };
  const v1::TableSpec& table = sweep.table();
  for (int i = 0; i < table.columns_size() && !sweep.sampling().has_optuna(); ++i) {
    const v1::TableColumn& column = table.columns(i);
    const std::string path = ItemPath("table.columns", i);
    const std::vector<const Where*> where = {&table.where(), &column.where()};
    add({.path = path + ".measurement", .measurement = column.measurement(), .where = where});
    add({.path = path + ".best_of.by", .measurement = column.best_of().by(), .where = where});
  }
  for (int i = 0; i < sweep.figures_size() && !sweep.sampling().has_optuna(); ++i) {
    const v1::FigureSpec& figure = sweep.figures(i);
    const std::string path = ItemPath("figures", i);
    if (figure.kind() == v1::FigureSpec::CURVES) continue;  // Of trainings.
    add({.path = path + ".y", .measurement = figure.y(), .where = {&figure.where()}});
    if (figure.kind() == v1::FigureSpec::SCATTER)
      add({.path = path + ".x", .measurement = figure.x(), .where = {&figure.where()}});
  }
  const v1::OptunaSampling& search = sweep.sampling().optuna();
  const std::string place = "sampling.optuna.";
  for (int i = 0; i < search.objectives_size(); ++i)
    add({.path = ItemPath(place + "objectives", i) + ".measurement",
         .measurement = search.objectives(i).measurement(),
         .of_every = true});
  for (int i = 0; i < search.constraints_size(); ++i)
    add({.path = ItemPath(place + "constraints", i) + ".measurement",
         .measurement = search.constraints(i).measurement(),
         .of_every = true});
  return all;
}

}  // namespace

std::string HeadingOf(const v1::TableColumn& column) {
  if (column.has_heading()) return column.heading();
  if (column.statistic() == v1::TableColumn::MEAN) return column.measurement();
  return absl::StrCat(column.measurement(),
                      column.statistic() == v1::TableColumn::MEDIAN ? " median" : " best");
}

int FindColumn(const v1::TableSpec& table, const std::string& heading) {
  for (int i = 0; i < table.columns_size(); ++i) {
    if (HeadingOf(table.columns(i)) == heading) return i;
  }
  return -1;
}

std::vector<std::vector<int>> MeanParts(const v1::TableSpec& table, const v1::TableColumn& column) {
  std::vector<std::vector<int>> parts;
  for (const Value& entry : column.mean_of()) {
    std::vector<int>& part = parts.emplace_back();
    for (const std::string& heading : HeadingsOf(entry)) {
      if (const int found = FindColumn(table, heading); found >= 0) part.push_back(found);
    }
  }
  return parts;
}

void CheckTableForm(const v1::TableSpec& table, const MeasurementList& measurements, Problems* problems) {
  FormChecker(table, measurements, problems).Check();
}

void CheckMeasured(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems) {
  if (sweep.has_program() && !InlierEvaluates(sweep.program().description())) return;
  std::vector<Wanted> all = AllWanted(sweep);
  if (all.empty()) return;
  int checked = 0;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    if (++checked > SweepGrid::kPointsChecked) return;
    absl::StatusOr<GridPoint> point = grid.At(*index);
    if (!point.ok() || !grid.form().Resolve(&point->spec).ok()) return;  // Reported elsewhere.
    for (Wanted& wanted : all) {
      if (!std::ranges::all_of(wanted.where,
                               [&](const Where* where) { return Matches(*where, point->labels); }))
        continue;
      ++wanted.trials;
      const MeasurementInfo& info = *FindMeasurement(wanted.measurement);
      wanted.measured += point->spec.evaluation().measure() >= info.measure &&
                         (!info.quantized || point->spec.has_quantization());
    }
  }
  for (const Wanted& wanted : all) {
    if (wanted.trials == 0 || (wanted.of_every ? wanted.measured == wanted.trials : wanted.measured > 0))
      continue;
    const MeasurementInfo& info = *FindMeasurement(wanted.measurement);
    const std::string least = v1::EvaluationSpec::Measure_Name(info.measure);
    problems->Add(
        wanted.path,
        absl::StrCat(
            wanted.measurement, " is measured by ", wanted.measured == 0 ? "none" : "not all", " of the ",
            wanted.trials, " trials that it is of: ",
            info.quantized
                ? absl::StrCat("only trials with quantization have it, with evaluation.measure: ", least)
                : absl::StrCat("give them evaluation.measure: ", least,
                               ", which quantized trials have only when asked",
                               wanted.of_every ? "" : ", or name trials in float with where")));
  }
}

}  // namespace inlier
