#include "spec/sweep/default_table.h"

#include <map>
#include <string>

#include "spec/sweep/label_groups.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {
namespace {

// The measurements of the papers' tables.
constexpr const char* kUsualMeasurements[] = {"perplexity", "max_inf_norm", "avg_kurtosis"};

// Of a program's measurements.
constexpr int kColumnsMax = 6;

v1::TableSpec OwnOrDefaultTable(const v1::SweepSpec& sweep) {
  if (sweep.table().columns_size() > 0) return sweep.table();
  v1::TableSpec spec;
  const absl::StatusOr<SweepGrid> grid = SweepGrid::Create(sweep);
  if (grid.ok()) {
    for (const AxisInfo& axis : grid->axes()) {
      if (!OnlyRepeats(axis)) spec.add_rows(axis.name);
    }
  }
  if (!sweep.has_program()) {
    for (const char* measurement : kUsualMeasurements) spec.add_columns()->set_measurement(measurement);
  }
  for (const auto& [name, measurement] :
       std::map<std::string, v1::ProgramMeasurement>(sweep.program().description().measurements().begin(),
                                                     sweep.program().description().measurements().end())) {
    if (spec.columns_size() < kColumnsMax) spec.add_columns()->set_measurement(name);
  }
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
