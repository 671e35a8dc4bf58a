// A Table as text: for a terminal, Markdown, CSV, LaTeX (booktabs, siunitx), JSON or HTML. Pure functions.
//
// A cell shows "mean ± std" with the column's digits; with divergences "4.52 ± 0.01 (1 diverged)"; "*" after a mean
// with missing values; "†" where it differs from the baseline. Without a mean it has a word for each reason: "not run",
// "-" not finished, DIVERGED, FAILED, CANCELLED, "n/a" not measured. A published figure follows in brackets (in LaTeX in
// a column of its own), with the paper's digits; "^a" after it: of another setting. The notes below the table explain
// the marks and have the number of values n, or the cells of all columns have it where one column's cells differ.
#ifndef INLIER_CLI_TABLES_TABLE_WRITER_H_
#define INLIER_CLI_TABLES_TABLE_WRITER_H_

#include <optional>
#include <string>
#include <string_view>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

enum class TableFormat { kText, kMarkdown, kCsv, kLatex, kJson, kHtml };

// Of "text" ("txt"), "markdown" ("md"), "csv", "latex" ("tex"), "json" or "html" ("htm").
std::optional<TableFormat> ParseTableFormat(std::string_view name);

struct TableStyle {
  bool utf8 = true;       // "±" and "─"; "+-" and ASCII otherwise.
  int width = 0;          // kText only: columns of the terminal; wider tables continue below. 0: no limit.
  bool terminal = false;  // kText only: the best in bold.
  // Differences to the baseline in place of results; CSV and JSON have both.
  bool differences = false;
};

std::string WriteTable(const v1::Table& table, TableFormat format, const TableStyle& style = {});

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_WRITER_H_
