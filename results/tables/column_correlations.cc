#include "results/tables/column_correlations.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "results/statistics/difference_tests.h"
#include "results/statistics/rank_correlation.h"
#include "spec/sweep/table_columns.h"

namespace inlier {
namespace {

// The mean over its evaluations of each training of a cell.
std::map<std::string, double> MeansByTraining(const Trials& trials, const MeasurementChoice& measurement) {
  std::map<std::string, Trials> by_training;
  std::map<std::string, double> means;
  for (const TrialValues* trial : trials) by_training[trial->train_stage].push_back(trial);
  for (const auto& [training, of_training] : by_training) {
    const NestedSummary summary = SummaryOf(of_training, measurement);
    if (!summary.means.empty()) means[training] = summary.means.front();
  }
  return means;
}

// The points with both numbers.
class Points {
 public:
  void Add(std::optional<double> x, std::optional<double> y) {
    if (!x || !y || std::isnan(*x) || std::isnan(*y)) return;
    x_.push_back(*x);
    y_.push_back(*y);
  }
  void Correlate(v1::TableCorrelation* found) const {
    found->set_count(static_cast<std::uint32_t>(x_.size()));
    if (const auto rho = SpearmanRho(x_, y_)) found->set_rho(*rho);
    if (const auto p = SpearmanP(x_, y_)) found->set_p(*p);
  }

 private:
  std::vector<double> x_, y_;
};

}  // namespace

absl::Status CorrelateColumns(const v1::TableSpec& spec, const std::vector<ColumnPlan>& columns,
                              const CellTrials& trials, v1::Table& table) {
  for (const v1::RankCorrelation& asked : spec.correlate()) {
    const int x = FindColumn(spec, asked.x()), y = FindColumn(spec, asked.y());
    Points points;
    for (int row = 0; row < table.rows_size(); ++row) {
      if (asked.points() == v1::RankCorrelation::ROWS) {
        points.Add(ShownNumber(table.rows(row).cells(x), spec.columns(x).statistic()),
                   ShownNumber(table.rows(row).cells(y), spec.columns(y).statistic()));
        continue;
      }
      ASSIGN_OR_RETURN(const Trials behind_x, trials(row, x));
      ASSIGN_OR_RETURN(const Trials behind_y, trials(row, y));
      const auto of_x = MeansByTraining(behind_x, columns[static_cast<std::size_t>(x)].measurement);
      const auto of_y = MeansByTraining(behind_y, columns[static_cast<std::size_t>(y)].measurement);
      for (const auto& [training, value] : of_x) {
        if (const auto other = of_y.find(training); other != of_y.end()) points.Add(value, other->second);
      }
    }
    v1::TableCorrelation* found = table.add_correlations();
    found->set_x(asked.x());
    found->set_y(asked.y());
    found->set_points(asked.points());
    points.Correlate(found);
  }
  return absl::OkStatus();
}

}  // namespace inlier
