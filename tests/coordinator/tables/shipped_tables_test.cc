// Every sweep of the papers shows their figures: sweeps/*.yaml, at full size, without running anything.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordinator/tables/published.h"
#include "coordinator/tables/trial_values.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

struct ShippedTable {
  fs::path file;
  std::string scale;
};

std::vector<ShippedTable> ShippedTables() {
  std::vector<ShippedTable> tables;
  for (const fs::directory_entry& entry : fs::directory_iterator(INLIER_SOURCE_DIR "/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    tables.push_back({entry.path(), ""});
    const auto scales = ReadScaleNames(entry.path());
    if (!scales.ok()) continue;  // Reported by ShippedSweepsTest.
    for (const std::string& scale : *scales) tables.push_back({entry.path(), scale});
  }
  return tables;
}

// Row labels -> published figures of it, over the points of the grid.
std::map<std::string, std::set<const PublishedFigure*>> FiguresByRow(
    const v1::SweepSpec& sweep, const std::vector<const PublishedFigure*>& figures) {
  std::map<std::string, std::set<const PublishedFigure*>> rows;
  const auto grid = SweepGrid::Create(sweep);
  EXPECT_TRUE(grid.ok()) << grid.status();
  for (auto index = grid->NextIndex(0); index; index = grid->NextIndex(*index + 1)) {
    const absl::StatusOr<GridPoint> point = grid->At(*index);
    const absl::StatusOr<v1::TrialSpec> spec = ResolveAndValidate(point->spec);
    EXPECT_TRUE(spec.ok()) << spec.status();
    if (!spec.ok()) continue;
    TrialValues trial;
    for (const auto& [axis, label] : point->labels) trial.labels[axis] = label;
    if (!Matches(trial, sweep.table().where())) continue;
    std::string row;
    for (const std::string& name : sweep.table().rows()) row += trial.labels[name] + " | ";
    std::set<const PublishedFigure*>& of_row = rows[row];
    for (const v1::TableColumn& column : sweep.table().columns()) {
      if (!Matches(trial, column.where())) continue;
      const PublishedFigure* figure = FindPublished(figures, PublishedQueryOf(*spec, column.measurement()));
      if (figure != nullptr) of_row.insert(figure);
    }
  }
  return rows;
}

TEST(ShippedTablesTest, EveryFigureIsNextToACellAndEveryRowHasOneAtFullSize) {
  int tables = 0;
  for (const ShippedTable& shipped : ShippedTables()) {
    SCOPED_TRACE(shipped.file.filename().string() + " " + shipped.scale);
    const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepFile(shipped.file, {}, shipped.scale);
    ASSERT_TRUE(sweep.ok()) << sweep.status();
    if (!sweep->table().has_published()) continue;
    const auto figures = PublishedTable(sweep->table().published());
    ASSERT_TRUE(figures.ok()) << figures.status();
    ++tables;
    std::size_t with_figures = 0;
    std::set<const PublishedFigure*> found;
    for (const auto& [row, of_row] : FiguresByRow(*sweep, *figures)) {
      if (shipped.scale.empty()) EXPECT_FALSE(of_row.empty()) << "no figure for the row " << row;
      with_figures += of_row.empty() ? 0 : 1;
      found.insert(of_row.begin(), of_row.end());
    }
    EXPECT_GT(with_figures, 0u) << "no row has a figure";
    for (const PublishedFigure* figure : *figures) {
      // The memory of a training is not measured, and the mean over GLUE's sets is no trial's.
      if (!shipped.scale.empty() || figure->metric == "vram_gb" || figure->metric == "average") continue;
      EXPECT_TRUE(found.contains(figure))
          << "no cell of the table shows " << figure->model << " " << figure->method << " " << figure->metric;
    }
    std::cout << shipped.file.stem().string() << (shipped.scale.empty() ? "" : " at " + shipped.scale) << ": "
              << found.size() << " of " << figures->size() << " figures are shown for " << with_figures
              << " rows\n";
  }
  EXPECT_GT(tables, 0);
}

}  // namespace
}  // namespace inlier
