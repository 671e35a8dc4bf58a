// A small table with one of each: means, deviations, a divergence, missing values, a published figure.
#ifndef INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_
#define INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_

#include <cstdint>
#include <optional>

#include "inlier/v1/sweep_service.pb.h"

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

// Two methods, two measurements; a divergence, a missing trial, published figures.
inline v1::Table Example() {
  v1::Table table;
  table.set_title("Gamma");
  table.add_row_headings("method");
  table.add_row_headings("bits");
  table.add_column_headings("perplexity");
  table.add_column_headings("max_inf_norm");
  table.add_decimals(2);
  table.add_decimals(0);
  v1::TableRow* row = table.add_rows();
  row->add_labels("vanilla");
  row->add_labels("8");
  *row->add_cells() = Cell(4.4949, 0.0123, 3);
  *row->add_cells() = Cell(735.4, 55, 3);
  row->mutable_cells(0)->set_published_mean(4.49);
  row->mutable_cells(0)->set_published_std(0.01);
  row = table.add_rows();
  row->add_labels("clipped");
  row->add_labels("");
  *row->add_cells() = Cell(4.39, {}, 1);
  row->mutable_cells(0)->set_missing(2);
  *row->add_cells() = Lost(3, 0);
  row = table.add_rows();
  row->add_labels("gated");
  row->add_labels("8");
  *row->add_cells() = Lost(0, 2);
  *row->add_cells() = Cell(39.2, 26, 2);
  row->mutable_cells(1)->set_diverged(1);
  return table;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CLI_TABLES_EXAMPLE_TABLE_H_
