// The cells and the notes of a table as text, which all formats for people share.
#ifndef INLIER_CLI_TABLES_TABLE_CELLS_H_
#define INLIER_CLI_TABLES_TABLE_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// In full, as a person writes it: with as many digits as a round trip needs, and an exponent only where zeros
// would fill the place.
std::string FullNumber(double value);
// With so many digits after the point.
std::string RoundedNumber(double value, std::uint32_t decimals);
// A published figure with the paper's digits.
std::string PublishedNumber(const v1::TableCell& cell, double value);

// A text of a table in one line, without control characters.
std::string OneLine(const std::string& text);

// The marks, and what a note may name.
struct CellStyle {
  std::string plus_minus = "±";
  std::string dagger = "†";  // Differs from the baseline.
  std::string times = "×";
  std::string rho = "ρ";
  bool brackets = true;  // Published figures are in brackets.
  bool shows_bold = true;
  bool differences = false;  // Cells are differences to the baseline.
  bool for_terminal = true;  // Notes name commands.
};

// A cell, in parts that formats arrange: "4.52 ± 0.01 (n=3)*†  [4.49 ± 0.01]^a".
struct CellText {
  std::string number;     // Of results; with `deviation` behind it. Empty without results.
  std::string deviation;  // Empty where there is none.
  std::string words;      // In place of a number.
  std::string remark;     // "(n=3) (1 diverged)", "(n=2×3)"
  std::string marks;      // "*†"
  std::string published;  // Empty where the cell has no figure.
  std::string published_deviation;
  std::string published_mark;  // "a"
  bool bold = false;           // Number and deviation.
};

struct TableText {
  std::vector<std::string> row_headings;
  std::vector<std::string> column_headings;
  struct Row {
    std::vector<std::string> labels;
    std::vector<CellText> cells;  // One for each column heading.
  };
  std::vector<Row> rows;
  // Meaning of the marks in the cells; one line each. "^a" is a raised a.
  std::vector<std::string> notes;
};
TableText ToText(const v1::Table& table, const CellStyle& style);
// In one line; the title where the table has no caption.
std::string CaptionOf(const v1::Table& table, const CellStyle& style);

// The cell in one line: what may be bold, and the rest.
struct CellLine {
  std::string number;
  std::string rest;
};
CellLine LineOf(const CellText& cell, const CellStyle& style);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_CELLS_H_
