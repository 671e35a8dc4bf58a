// Rows of a tab-separated file with a label and one or two texts each, in GLUE's form.
//
// Columns are named by the headings in the first line, or all by their numbers from 1, and then the first line is a
// row. Rows have as many cells as the first line, without quoting. Empty lines and a byte order mark are skipped.
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_DATA_LABELLED_TABLE_H_
#define INLIER_SPEC_DATA_LABELLED_TABLE_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/files/mapped_file.h"

namespace inlier {

// Headings or numbers; data.classification's fields of the same names with _column.
struct LabelledColumns {
  std::string label;
  std::string text;
  std::optional<std::string> pair;
};

struct LabelledRow {
  std::string_view label;  // Trimmed; never empty, nor "-", GLUE's mark for none.
  std::string_view text;
  std::string_view pair;  // Empty without a pair column.
  std::size_t line = 0;   // In the file, from 1.
};

class LabelledTable {
 public:
  // InvalidArgument names file and line of a missing column and of a row with another number of cells than the first
  // line, or a file without rows; it quotes no content.
  static absl::StatusOr<LabelledTable> Read(const std::filesystem::path& path, const LabelledColumns& columns,
                                            const DataRoots& roots = {});

  // In the file's order; they live as long as the table.
  const std::vector<LabelledRow>& rows() const { return rows_; }

  // "<file>:<line>", for messages.
  std::string Place(const LabelledRow& row) const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::vector<LabelledRow> rows_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_LABELLED_TABLE_H_
