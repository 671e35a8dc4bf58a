// A table of separated values with headings, after a byte order mark or none (spec/data/separated_rows.h).
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_CSV_TABLE_H_
#define INLIER_CLI_IMPORT_CSV_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

struct CsvTable {
  struct Row {
    std::size_t line = 0;  // Where it begins, from 1.
    std::vector<std::string> cells;
  };
  std::vector<std::string> headings;
  std::vector<Row> rows;  // Each with as many cells.

  // Its number, or that of headings.
  std::size_t Find(std::string_view heading) const;
};

// `delimiter`: one character; empty: the one of comma, semicolon and tab that the first line has most. InvalidArgument
// "file:line:column: …" for what is not UTF-8, quotation marks that are wrong, rows of another length, headings that are there twice, and a
// file without rows. Empty lines are skipped.
absl::StatusOr<CsvTable> ParseCsv(std::string_view text, const std::string& file,
                                  const std::string& delimiter);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_CSV_TABLE_H_
