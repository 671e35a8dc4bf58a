// The cells and the notes of a table as text, which all formats for readers share.
#ifndef INLIER_CLI_TABLES_TABLE_CELLS_H_
#define INLIER_CLI_TABLES_TABLE_CELLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// With as many digits as a round trip needs, and an exponent only for numbers below 1e-6 and from 1e15 on.
std::string FullNumber(double value);
std::string RoundedNumber(double value, std::uint32_t decimals);
// A published figure with the paper's digits.
std::string PublishedNumber(const v1::TableCell& cell, double value);

// A text of a table in one line, without control characters.
std::string OneLine(const std::string& text);

// The marks, and what a note may name.
struct CellStyle {
  std::string plus_minus = "±", dagger = "†", times = "×", rho = "ρ";
  bool brackets = true;  // Published figures are in brackets.
  bool shows_bold = true;
  bool differences = false;  // Cells are differences to the baseline.
  bool for_terminal = true;  // Notes name commands.
};

// A cell, in parts that formats arrange: "4.52 ± 0.01 (n=3)*†  [4.49 ± 0.01]^a".
struct CellText {
  std::string number, deviation;  // Of results; empty without them.
  std::string words;              // In place of a number.
  std::string remark;             // "(n=3) (1 diverged)", "(n=2×3)"
  std::string marks;              // "*†"
  std::string published, published_deviation, published_mark;
  bool bold = false;  // Number and deviation.
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
std::string CaptionOf(const v1::Table& table, const CellStyle& style);

// The cell in one line: a number that is bold, and the rest.
struct CellLine {
  std::string number, rest;
};
CellLine LineOf(const CellText& cell, const CellStyle& style);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_CELLS_H_
