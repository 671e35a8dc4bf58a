// Differences to a baseline's row, as text.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_TABLES_TABLE_COMPARISON_H_
#define INLIER_CLI_TABLES_TABLE_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/tables/table_cells.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// "< 0.001", "= 0.013"
std::string PText(double p);

// "vanilla": the labels of the baseline's row.
std::string BaselineName(const v1::Table& table);

// The row is what others are compared with.
bool IsBaseline(const v1::Table& table, int row);

// By the paired t-test; by Welch's where there is none. Never with one degree of freedom: a side needs three trainings.
bool IsDifferent(const v1::Table& table, int row, int column);
inline constexpr std::uint32_t kTestedTrainingsMin = 3;

// Of a cell with a difference: "-0.50 [-0.61, -0.38], 3 pairs, p = 0.013"; without a pair
// "-0.50 [-0.61, -0.38], not paired, p = 0.013".
std::string DifferenceText(const v1::TableCell& cell, std::uint32_t decimals);

// Adds notes of bold numbers, daggers, differences, and of what is not compared.
void AddBaselineNotes(const v1::Table& table, const CellStyle& style, std::vector<std::string>* notes);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_COMPARISON_H_
