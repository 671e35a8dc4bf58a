// Describes in words how a table's numbers were made: trainings, their evaluations, statistics, rank correlations.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_TABLES_TABLE_COUNTS_H_
#define INLIER_CLI_TABLES_TABLE_COUNTS_H_

#include <string>
#include <vector>

#include "cli/tables/table_cells.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

v1::TableColumn::Statistic StatisticOf(const v1::Table& table, int column);
// Digits after the point.
std::uint32_t DecimalsOf(const v1::Table& table, int column);

// n of a cell with a number, for the cell itself: "3", or "2×3" with 3 evaluations of each training.
std::string CountOf(const v1::TableCell& cell, const CellStyle& style);
// The cells of one column have different n, so that each cell shows its own.
bool CountsDiffer(const v1::Table& table);

// Adds notes of medians, best ones, best points and means: "median: norm, kurtosis".
void AddStatisticNotes(const v1::Table& table, std::vector<std::string>* notes);
// Adds notes of the spread within trainings, of the deviation that a paper's is compared with, and of n.
void AddCountNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes);
void AddCorrelationNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_COUNTS_H_
