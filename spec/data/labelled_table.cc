#include "spec/data/labelled_table.h"

#include "absl/strings/str_cat.h"
#include "base/data/text_lines.h"
#include "base/status.h"

namespace inlier {
absl::StatusOr<LabelledTable> LabelledTable::Read(const std::filesystem::path& path,
                                                  const LabelledColumns& columns, const DataRoots& roots) {
  const RecordForm form = RecordFormOf(path.native()).value_or(RecordForm::kTabs);
  std::vector<RecordColumn> wanted = {
      {"data.classification.label_column", columns.label, RecordColumn::kValue},
      {"data.classification.text_column", columns.text}};
  if (columns.pair.has_value()) wanted.push_back({"data.classification.pair_column", *columns.pair});
  LabelledTable table;
  ASSIGN_OR_RETURN(table.records_, Records::Read(path, form, wanted, {.roots = roots}));
  for (std::size_t i = 0; i < table.records_.size(); ++i) {
    LabelledRow& row = table.rows_.emplace_back();
    row.record = i;
    row.label = TrimmedCell(table.records_.Value(i, 0));
    row.text = table.records_.Value(i, 1);
    if (wanted.size() > 2) row.pair = table.records_.Value(i, 2);
    const auto lacks = [&](const char* what, const std::string& column) {
      return absl::InvalidArgumentError(absl::StrCat(table.Place(row), ": no ", what, " in the column \"",
                                                     column, "\"; leave such rows out"));
    };
    if (row.label.empty() || row.label == "-") return lacks("label", columns.label);
    if (form == RecordForm::kTabs) continue;  // GLUE has rows without a text.
    if (IsBlank(row.text)) return lacks("text", columns.text);
    if (wanted.size() > 2 && IsBlank(row.pair)) return lacks("text", *columns.pair);
  }
  if (!table.rows_.empty()) return table;
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), ": no rows; one a line is needed",
                   IsJson(form) || table.records_.by_numbers() ? "" : ", below the headings"));
}

}  // namespace inlier
