// A small table with one of each: means, deviations, a divergence, missing values, a published figure.
#ifndef INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_
#define INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "inlier/v1/sweep_service.pb.h"
#include "tests/cli/parse.h"

namespace inlier {

inline v1::TableCell Cell(double mean, std::optional<double> std, std::uint32_t count) {
  v1::TableCell cell;
  cell.set_mean(mean);
  if (std.has_value()) cell.set_std(*std);
  cell.set_count(count);
  cell.add_trials("t-1");
  return cell;
}
inline v1::TableCell Lost(std::uint32_t diverged, std::uint32_t missing) {
  v1::TableCell cell;
  cell.set_count(0);
  cell.set_diverged(diverged);
  cell.set_missing(missing);
  return cell;
}

inline v1::Table MakeTable(std::initializer_list<const char*> row_headings,
                           std::initializer_list<const char*> column_headings) {
  v1::Table table;
  for (const char* heading : row_headings) table.add_row_headings(heading);
  for (const char* heading : column_headings) table.add_column_headings(heading);
  return table;
}
inline v1::TableRow& AddRow(v1::Table& table, std::initializer_list<const char*> labels,
                            std::initializer_list<v1::TableCell> cells) {
  v1::TableRow& row = *table.add_rows();
  for (const char* label : labels) row.add_labels(label);
  for (const v1::TableCell& cell : cells) *row.add_cells() = cell;
  return row;
}
inline v1::TableCell& CellAt(v1::Table& table, int row, int column) {
  return *table.mutable_rows(row)->mutable_cells(column);
}
inline v1::TableCell With(v1::TableCell cell, const std::string& fields) { return Set(cell, fields); }

// Two methods, two measurements; a divergence, a missing trial, published figures.
inline v1::Table Example() {
  v1::Table table = MakeTable({"method", "bits"}, {"perplexity", "max_inf_norm"});
  Set(table, "title: 'Gamma' decimals: [2, 0]");
  AddRow(table, {"vanilla", "8"},
         {With(Cell(4.4949, 0.0123, 3), "published_mean: 4.49 published_std: 0.01"), Cell(735.4, 55, 3)});
  AddRow(table, {"clipped", ""}, {With(Cell(4.39, {}, 1), "missing: 2"), Lost(3, 0)});
  AddRow(table, {"gated", "8"}, {Lost(0, 2), With(Cell(39.2, 26, 2), "diverged: 1")});
  return table;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_
