// The flags of `inlier table` that change a table: rows, columns, conditions, the baseline.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_TABLES_TABLE_FLAGS_H_
#define INLIER_CLI_TABLES_TABLE_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

struct TableFlags {
  std::vector<std::string> rows;
  std::vector<std::string> columns;    // MEASUREMENT[@mean|@median|@best][:DECIMALS]
  std::vector<std::string> by;         // Axes: each column once for each of their labels.
  std::vector<std::string> where;      // AXIS=LABEL; those of one axis are alternatives.
  std::vector<std::string> baseline;   // AXIS=LABEL
  std::vector<std::string> correlate;  // HEADING,HEADING[@rows|@trainings]
  bool no_bold = false;
  v1::TableSpec fields;  // confidence, title, caption, label and published.

  // Some flag is given.
  bool any() const;
};

// Applies all but `by`. InvalidArgument names the flag. `axes`: names that may have commas and equal signs.
absl::Status ApplyTableFlags(const TableFlags& flags, v1::TableSpec* spec,
                             const std::vector<std::string>& axes = {});

// Each column once for each label of `axis`, which its heading gets, too.
void SplitColumns(const std::string& axis, const std::vector<std::string>& labels, v1::TableSpec* spec);

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_TABLE_FLAGS_H_
