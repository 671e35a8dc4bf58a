#include "spec/sweep/default_table.h"

#include <string>

#include "spec/program/measurement_list.h"
#include "spec/program/program_description.h"
#include "spec/sweep/label_groups.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {
namespace {

// The measurements of the papers' tables.
constexpr const char* kUsualMeasurements[] = {"perplexity", "max_inf_norm", "avg_kurtosis"};

v1::TableSpec OwnOrDefaultTable(const v1::SweepSpec& sweep) {
  if (sweep.table().columns_size() > 0) return sweep.table();
  v1::TableSpec spec;
  const absl::StatusOr<SweepGrid> grid = SweepGrid::Create(sweep);
  if (grid.ok()) {
    for (const AxisInfo& axis : grid->axes()) {
      if (!OnlyRepeats(axis)) spec.add_rows(axis.name);
    }
  }
  if (!sweep.has_program() || InlierEvaluates(sweep.program().description())) {
    for (const char* measurement : kUsualMeasurements) spec.add_columns()->set_measurement(measurement);
    return spec;
  }
  const auto measurements = MeasurementList::Of(sweep);
  for (const MeasurementInfo& info : measurements->first())
    spec.add_columns()->set_measurement(std::string(info.name));
  return spec;
}

}  // namespace

v1::TableSpec TableAskedFor(const v1::TableSpec& asked, const v1::SweepSpec& sweep) {
  if (asked.columns_size() > 0) return asked;
  v1::TableSpec spec = OwnOrDefaultTable(sweep);
  if (asked.rows_size() > 0) spec.clear_rows();
  if (asked.rows_size() > 0 || !asked.baseline().empty()) spec.clear_baseline();
  if (asked.correlate_size() > 0) spec.clear_correlate();
  spec.MergeFrom(asked);
  return spec;
}

}  // namespace inlier
