#include "results/figures/figure_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "results/figures/axis_title.h"
#include "results/figures/figure_ends.h"
#include "results/figures/plot_trial.h"
#include "results/statistics/rank_correlation.h"
#include "spec/schema/number_text.h"
#include "spec/sweep/figure_checks.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/label_groups.h"

namespace inlier {
namespace {

using v1::FigureSpec;
using Trials = std::vector<const PlotTrial*>;
using Group = LabelGroup<const PlotTrial*>;

constexpr std::size_t kStepsDrawn = 1000;  // Of a curve.

bool IsAxis(const SweepGrid& grid, const std::string& name) {
  return std::ranges::any_of(grid.axes(), [&](const auto& axis) { return axis.name == name; });
}

bool IsOfTraining(const std::string& measurement, const SweepGrid& grid) {
  const MeasurementInfo* info = grid.form().measurements()->Find(measurement);
  return info != nullptr && info->source == "train";
}

// "2", or "1 to 3".
std::string Extent(std::uint32_t least, std::uint32_t most) {
  return least == most ? absl::StrCat(least) : absl::StrCat(least, " to ", most);
}

class Builder {
 public:
  Builder(const FigureSpec& spec, const SweepGrid& grid, const std::vector<PlotTrial>& trials)
      : spec_(spec),
        grid_(grid),
        chosen_(MatchingTrials(spec, grid, trials)),
        // A curve of any measurement is of the training.
        of_training_(spec.kind() == FigureSpec::CURVES || IsOfTraining(spec.y(), grid)) {}

  absl::StatusOr<Figure> Build(const CurveReader& read_curves) {
    if (chosen_.empty())
      return absl::NotFoundError("no trial of the sweep matches `where`; `inlier query` shows their labels");
    figure_.TakeForm(spec_);
    figure_.y_heading = spec_.y();
    figure_.y_title = MeasurementTitle(spec_.y(), grid_);
    if (spec_.kind() != FigureSpec::HEAT_MAP) ChooseSeries();
    switch (spec_.kind()) {
      case FigureSpec::CURVES:
      case FigureSpec::LAYERS:
        RETURN_IF_ERROR(AddCurves(read_curves));
        break;
      case FigureSpec::AGAINST:
        RETURN_IF_ERROR(AddAgainst());
        break;
      case FigureSpec::BARS:
        AddBars();
        break;
      case FigureSpec::HEAT_MAP:
        AddHeatMap();
        break;
      default:
        AddScatter();
    }
    RETURN_IF_ERROR(CheckNumbers());
    AddLost();
    return std::move(figure_);
  }

 private:
  std::size_t DistinctLabels(const std::string& axis) const {
    std::set<std::string> labels;
    for (const PlotTrial* trial : chosen_) labels.insert(TextOf(*trial, axis));
    return labels.size();
  }

  // True when trials with the same key have the same label on the axis.
  template <typename KeyOf>
  bool Decides(const std::string& axis, const KeyOf& key_of) const {
    std::map<std::string, std::string> labels;
    for (const PlotTrial* trial : chosen_) {
      const std::string& label = TextOf(*trial, axis);
      if (labels.emplace(key_of(*trial), label).first->second != label) return false;
    }
    return true;
  }

  void ChooseSeries() {
    figure_.series_headings.assign(spec_.series().begin(), spec_.series().end());
    if (spec_.series_size() > 0) return;
    const bool has_x_axis = spec_.kind() == FigureSpec::AGAINST;
    for (const AxisInfo& axis : grid_.axes()) {
      if (OnlyRepeats(axis) || DistinctLabels(axis.name) < 2) continue;
      if (has_x_axis && (axis.name == spec_.x() || Decides(axis.name, [&](const PlotTrial& trial) {
                           return TextOf(trial, spec_.x());
                         }))) {
        decided_by_x_.push_back(axis.name);
        continue;
      }
      // An axis such as bits, with one training for all labels, does not change its numbers.
      if (of_training_ && !Decides(axis.name, [](const PlotTrial& trial) {
            return trial.train_stage.empty() ? trial.id : trial.train_stage;
          }))
        continue;
      figure_.series_headings.push_back(axis.name);
    }
  }

  // By combination of labels, in the order of the axes' labels (for a column, of the trials).
  std::vector<Group> GroupBy(const std::vector<std::string>& names, const Trials& trials) const {
    std::vector<const std::vector<std::string>*> orders(names.size(), nullptr);
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (const AxisInfo& axis : grid_.axes()) {
        if (axis.name == names[i] && axis.range.empty()) orders[i] = &axis.labels;
      }
    }
    return GroupByLabels(trials, orders, [&](const PlotTrial* trial, std::size_t i) -> const std::string& {
      return TextOf(*trial, names[i]);
    });
  }

  // Summarises the measurement y over trainings.
  Summary SummaryOf(const Trials& trials) {
    const Summary summary = SummariseTrainings(ResultsOf(trials, 0, of_training_));
    Count(summary);
    return summary;
  }

  void Count(const Summary& summary) {
    if (summary.n == 0) return;
    n_least_ = std::min(n_least_, summary.n);
    n_most_ = std::max(n_most_, summary.n);
    evaluations_ = std::max(evaluations_, summary.evaluations);
  }

  // CURVES are of trainings over their steps, LAYERS of evaluations over the layers.
  absl::Status AddCurves(const CurveReader& read_curves) {
    figure_.x_heading = figure_.x_title = spec_.kind() == FigureSpec::LAYERS ? "layer" : "step";
    std::map<std::string, std::string> trial_of;  // By stage.
    std::vector<std::string> trials;
    for (const PlotTrial* trial : chosen_) {
      const std::string& stage = StageOf(*trial, of_training_);
      if (!stage.empty() && trial_of.emplace(stage, trial->id).second) trials.push_back(trial->id);
    }
    ASSIGN_OR_RETURN(const auto curves, read_curves(trials));
    std::size_t thinned = 1;
    for (const Group& group : GroupBy(figure_.series_headings, chosen_)) {
      std::map<double, std::vector<std::pair<std::string, double>>> values;  // With the training.
      std::set<std::string> seen;
      for (const PlotTrial* trial : group.items) {
        const std::string& stage = StageOf(*trial, of_training_);
        if (stage.empty() || !seen.insert(stage).second) continue;
        const auto curve = curves.find(trial_of.at(stage));
        if (curve == curves.end()) continue;
        for (const auto& [x, value] : curve->second) values[x].emplace_back(trial->train_stage, value);
      }
      if (values.empty()) continue;
      const std::size_t every = (values.size() + kStepsDrawn - 1) / kStepsDrawn;
      thinned = std::max(thinned, every);
      FigureSeries series{.labels = group.labels, .points = {}, .level_name = {}};
      std::size_t i = 0;
      for (const auto& [x, of_x] : values) {
        if (++i % every != 0 && i != values.size() && i != 1) continue;
        series.points.push_back({.x = x, .y = SummariseTrainings(SummariseNested(of_x)), .trial = {}});
        Count(series.points.back().y);
      }
      figure_.series.push_back(std::move(series));
    }
    figure_.notes.push_back(
        n_most_ > 1 ? absl::StrCat("mean and standard deviation of ", Extent(n_least_, n_most_), " trainings")
                    : "one training each");
    AddEvaluationsNote();
    if (thinned > 1) figure_.notes.push_back(absl::StrCat("one point in ", thinned, " is drawn"));
    return absl::OkStatus();
  }

  absl::Status AddAgainst() {
    figure_.x_heading = spec_.x();
    figure_.x_title = AxisTitle(spec_.x(), grid_);
    bool has_number = false;
    std::string other;
    for (const Group& group : GroupBy(figure_.series_headings, chosen_)) {
      std::map<double, Trials> by_x;
      Trials without;
      for (const PlotTrial* trial : group.items) {
        const std::optional<double> x = ParseNumber(TextOf(*trial, spec_.x()));
        (x ? by_x[*x] : without).push_back(trial);
      }
      FigureSeries series{.labels = group.labels, .points = {}, .level_name = {}};
      has_number = has_number || !by_x.empty();
      for (const auto& [x, trials] : by_x) {
        const Summary y = SummaryOf(trials);
        if (y.n > 0) series.points.push_back({.x = x, .y = y, .trial = {}});
      }
      if (!series.points.empty()) figure_.series.push_back(std::move(series));
      AddLevels(group, without, !by_x.empty());
      if (!without.empty() && other.empty()) other = TextOf(*without[0], spec_.x());
    }
    if (!has_number) {
      return absl::InvalidArgumentError(
          absl::StrCat("x: ", spec_.x(),
                       other.empty() ? " has no value in these trials"
                                     : absl::StrCat(" has \"", other, "\", which is not a number"),
                       "; name an axis or column of numbers, or give the kind BARS"));
    }
    AddSummaryNote();
    return absl::OkStatus();
  }

  // Adds a horizontal line for each label of trials to which x does not apply (gamma to vanilla).
  void AddLevels(const Group& group, const Trials& without, bool has_points) {
    std::vector<std::string> names = decided_by_x_;
    if (names.empty() && IsAxis(grid_, spec_.x())) names.push_back(spec_.x());
    for (const Group& level : GroupBy(names, without)) {
      FigureSeries series{
          .labels = group.labels, .points = {}, .level = true, .level_name = JoinLabels(level.labels, ", ")};
      if (series.level_name.empty() && has_points) series.level_name = "no " + spec_.x();
      const Summary y = SummaryOf(level.items);
      if (y.n == 0) continue;
      series.points.push_back({.y = y, .trial = {}});
      figure_.series.push_back(std::move(series));
    }
  }

  void AddBars() {
    for (const Group& group : GroupBy(figure_.series_headings, chosen_)) {
      const Summary y = SummaryOf(group.items);
      if (y.n == 0) continue;
      figure_.series.push_back({.labels = group.labels, .points = {{.y = y, .trial = {}}}, .level_name = {}});
    }
    figure_.x_title = absl::StrJoin(figure_.series_headings, ", ");
    AddSummaryNote();
  }

  void AddHeatMap() {
    figure_.x_heading = spec_.x();
    figure_.x_title = AxisTitle(spec_.x(), grid_);
    figure_.y_heading = spec_.by();
    figure_.y_title = AxisTitle(spec_.by(), grid_);
    figure_.value_title = MeasurementTitle(spec_.y(), grid_);
    figure_.columns = LabelsOf(spec_.x());
    figure_.rows = LabelsOf(spec_.by());
    figure_.cells.assign(figure_.rows.size(), std::vector<Summary>(figure_.columns.size()));
    const auto place = [](const std::vector<std::string>& labels, const std::string& label) {
      return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
    };
    for (const Group& group : GroupBy({spec_.x(), spec_.by()}, chosen_)) {
      figure_.cells[place(figure_.rows, group.labels[1])][place(figure_.columns, group.labels[0])] =
          SummaryOf(group.items);
    }
    AddSummaryNote();
  }

  // The labels of all trials, numbers by size.
  std::vector<std::string> LabelsOf(const std::string& name) const {
    std::vector<std::string> labels;
    for (const Group& group : GroupBy({name}, chosen_)) labels.push_back(group.labels[0]);
    if (std::ranges::all_of(labels, [](const auto& text) { return ParseNumber(text).has_value(); }))
      std::ranges::sort(labels,
                        [](const auto& a, const auto& b) { return *ParseNumber(a) < *ParseNumber(b); });
    return labels;
  }

  void AddScatter() {
    figure_.x_heading = spec_.x();
    figure_.x_title = MeasurementTitle(spec_.x(), grid_);
    of_training_ = of_training_ && IsOfTraining(spec_.x(), grid_);
    std::vector<double> xs, ys;
    for (const Group& group : GroupBy(figure_.series_headings, chosen_)) {
      FigureSeries series{.labels = group.labels, .points = {}, .level_name = {}};
      for (const Trials& of_training : ByTraining(group.items)) {
        const NestedSummary x = ResultsOf(of_training, 1, of_training_),
                            y = ResultsOf(of_training, 0, of_training_);
        if (x.means.empty() || y.means.empty()) continue;
        evaluations_ = std::max(evaluations_, static_cast<std::uint32_t>(y.evaluations));
        xs.push_back(x.means[0]);
        ys.push_back(y.means[0]);
        series.points.push_back({.x = xs.back(), .y = Summarise(y.means), .trial = of_training[0]->id});
      }
      if (!series.points.empty()) figure_.series.push_back(std::move(series));
    }
    const std::optional<double> rho = SpearmanRho(xs, ys);
    figure_.notes.push_back(
        absl::StrCat(rho ? absl::StrFormat("Spearman's ρ = %.3f, ", *rho) : "Spearman's ρ is not defined, ",
                     "n = ", xs.size()));
    AddEvaluationsNote();
  }

  void AddEvaluationsNote() {
    if (evaluations_ > 1) {
      figure_.notes.push_back(
          absl::StrCat("of a training the mean over its evaluations, up to ", evaluations_));
    }
  }

  void AddSummaryNote() {
    if (n_most_ == 0) return;
    figure_.notes.push_back(n_most_ > 1 ? absl::StrCat(spec_.kind() == FigureSpec::HEAT_MAP
                                                           ? "mean, n = "
                                                           : "mean and standard deviation, n = ",
                                                       Extent(n_least_, n_most_))
                                        : "n = 1");
    AddEvaluationsNote();
  }

  absl::Status CheckNumbers() const {
    bool any = false;
    const std::string x = figure_.x_heading;
    for (const FigureSeries& series : figure_.series) {
      for (const FigurePoint& point : series.points) {
        any = true;
        if (figure_.log_x) RETURN_IF_ERROR(CheckLogarithm("x", x, point.x));
        if (figure_.log_y) RETURN_IF_ERROR(CheckLogarithm("y", spec_.y(), point.y.min));
      }
    }
    for (const auto& row : figure_.cells) {
      for (const Summary& cell : row) {
        any = any || cell.n > 0;
        if (figure_.log_y && cell.n > 0) RETURN_IF_ERROR(CheckLogarithm("y", spec_.y(), cell.mean));
      }
    }
    if (any) return absl::OkStatus();
    if (spec_.kind() == FigureSpec::CURVES) {
      const MeasurementInfo* curve = grid_.form().measurements()->Find(spec_.y());
      const std::string period(curve == nullptr ? "measure_every" : PeriodFieldOf(*curve));
      return absl::NotFoundError(absl::StrCat(
          "no training has reported ", spec_.y(), " yet",
          period == "measure_every" ? ""
                                    : absl::StrCat("; training.", period, " makes trainings report it")));
    }
    const bool ended =
        std::ranges::any_of(chosen_, [](const PlotTrial* trial) { return trial->state == "SUCCEEDED"; });
    return absl::NotFoundError(absl::StrCat(
        "no trial has a result with ", spec_.y(),
        ended ? ": those that ended did not measure it; docs/reference/measurements.md lists its needs"
              : " yet"));
  }

  // Notes of results that are not drawn, each counted once.
  void AddLost() {
    std::set<std::string> diverged, missing, there;
    const bool curves = MeasurementsOf(spec_).empty();
    for (const PlotTrial* trial : chosen_) {
      const std::string& stage =
          StageOf(*trial, of_training_).empty() ? trial->id : StageOf(*trial, of_training_);
      if (trial->state == "DIVERGED") {
        diverged.insert(stage);
      } else if (!curves) {
        (std::isnan(trial->measurements[0]) ? missing : there).insert(stage);
      }
    }
    if (!diverged.empty())
      figure_.notes.push_back(absl::StrCat(diverged.size(), curves ? " diverged" : " diverged, not drawn"));
    std::erase_if(missing,
                  [&](const auto& stage) { return there.contains(stage) || diverged.contains(stage); });
    if (!missing.empty())
      figure_.notes.push_back(absl::StrCat(missing.size(), " without a result, not drawn"));
    for (const auto& row : figure_.cells) {
      for (const Summary& cell : row) {
        if (cell.n > 0) continue;
        figure_.notes.push_back("grey: no result");
        return;
      }
    }
  }

  const FigureSpec& spec_;
  const SweepGrid& grid_;
  const Trials chosen_;
  bool of_training_;
  std::vector<std::string> decided_by_x_;
  std::uint32_t n_least_ = std::numeric_limits<std::uint32_t>::max(), n_most_ = 0;
  std::uint32_t evaluations_ = 1;
  Figure figure_;
};

}  // namespace

std::set<std::string> ColumnsOf(const FigureSpec& spec, const SweepGrid& grid) {
  std::set<std::string> columns;
  const auto need = [&](const std::string& name) {
    if (!name.empty() && !IsAxis(grid, name)) columns.insert(name);
  };
  for (const std::string& name : spec.series()) need(name);
  for (const auto& [name, wanted] : spec.where()) need(name);
  if (spec.kind() != FigureSpec::SCATTER) need(spec.x());
  need(spec.by());
  return columns;
}

std::vector<std::string> MeasurementsOf(const FigureSpec& spec) {
  if (spec.kind() == FigureSpec::CURVES || spec.kind() == FigureSpec::LAYERS || IsOfModel(spec.kind()))
    return {};
  if (spec.kind() == FigureSpec::SCATTER) return {spec.y(), spec.x()};
  return {spec.y()};
}

std::vector<const PlotTrial*> MatchingTrials(const FigureSpec& spec, const SweepGrid& grid,
                                             const std::vector<PlotTrial>& trials) {
  auto where = spec.where();
  for (auto& [name, wanted] : where) {
    const auto axis = std::ranges::find_if(
        grid.axes(), [&name = name](const auto& one) { return one.name == name && one.range.empty(); });
    std::optional<LabelFinder> finder;
    if (axis != grid.axes().end()) finder.emplace(axis->labels);
    wanted = WithLabels(wanted, finder ? &*finder : nullptr);
  }
  Trials matching;
  for (const PlotTrial& trial : trials) {
    if (Matches(trial, where)) matching.push_back(&trial);
  }
  return matching;
}

absl::StatusOr<Figure> BuildFigure(const FigureSpec& spec, const SweepGrid& grid,
                                   const std::vector<PlotTrial>& trials, const CurveReader& read_curves) {
  return Builder(spec, grid, trials).Build(read_curves);
}

}  // namespace inlier
