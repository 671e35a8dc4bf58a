// The cells and the notes of a table as text, which all formats share.
#ifndef INLIER_CLI_TABLES_TABLE_CELLS_H_
#define INLIER_CLI_TABLES_TABLE_CELLS_H_

#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

enum class Markup { kPlain, kLatex };

// In full, as a person writes it: with as many digits as a round trip needs, and an exponent only where zeros
// would fill the place.
std::string FullNumber(double value);

// A text of a table in one line, without control characters.
std::string OneLine(const std::string& text);

// Headings, then rows; all with the same number of cells.
using Grid = std::vector<std::vector<std::string>>;
Grid ToGrid(const v1::Table& table, const std::string& plus_minus, Markup markup);

// Meaning of the marks in the cells; one line each.
std::vector<std::string> Notes(const v1::Table& table);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_CELLS_H_
