// Records with a label and one or two texts each: GLUE's tab-separated files, and every other form of records.
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
#include "spec/data/records.h"

namespace inlier {

// Headings, keys or numbers; data.classification's fields of the same names with _column.
struct LabelledColumns {
  std::string label;
  std::string text;
  std::optional<std::string> pair;
};

struct LabelledRow {
  std::string_view label;  // Trimmed; never empty, nor "-", GLUE's mark for none.
  std::string_view text;
  std::string_view pair;   // Empty without a pair column.
  std::size_t record = 0;  // From 0.
};

class LabelledTable {
 public:
  // InvalidArgument as Records::Read, and with the line of a row without a label, or, unless the file is tab-separated,
  // without a text; a file without rows. A file whose name tells no form is tab-separated.
  static absl::StatusOr<LabelledTable> Read(const std::filesystem::path& path, const LabelledColumns& columns,
                                            const DataRoots& roots = {});

  // In the file's order; they live as long as the table.
  const std::vector<LabelledRow>& rows() const { return rows_; }

  // "<file>:<line>", for messages.
  std::string Place(const LabelledRow& row) const { return records_.Place(row.record); }
  // The columns are named by numbers: the first line of the file is a row.
  bool by_numbers() const { return records_.by_numbers(); }
  RecordForm form() const { return records_.form(); }

 private:
  Records records_;
  std::vector<LabelledRow> rows_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_LABELLED_TABLE_H_
