#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/tables/table_cells.h"
#include "cli/tables/table_counts.h"
#include "cli/tables/table_formats.h"

namespace inlier {
namespace {

std::string CsvNumber(bool there, double value) { return there ? FullNumber(value) : ""; }

// The fields of a cell, each with the end of its heading; the first is the number that the column shows.
std::vector<std::pair<std::string, std::string>> FieldsOf(const v1::TableCell& cell,
                                                          v1::TableColumn::Statistic statistic) {
  const bool median = statistic == v1::TableColumn::MEDIAN;
  const bool best = statistic == v1::TableColumn::BEST;
  const auto published = [&cell](bool there, double value) {
    return there && cell.has_published_decimals() ? PublishedNumber(cell, value) : CsvNumber(there, value);
  };
  const auto text = [](std::uint32_t count) { return absl::StrCat(count); };
  return {
      {"", median ? CsvNumber(cell.has_median(), cell.median())
           : best ? CsvNumber(cell.has_best(), cell.best())
                  : CsvNumber(cell.has_mean(), cell.mean())},
      {" std", CsvNumber(cell.has_std(), cell.std())},
      {" count", text(cell.count())},
      {" trainings", cell.has_trainings() ? text(cell.trainings()) : ""},
      {" evaluations", cell.has_evaluations() ? text(cell.evaluations()) : ""},
      {" within std", CsvNumber(cell.has_within_std(), cell.within_std())},
      {" pooled std", CsvNumber(cell.has_pooled_std(), cell.pooled_std())},
      {" diverged", text(cell.diverged())},
      {" missing", text(cell.missing())},
      {" failed", text(cell.failed())},
      {" cancelled", text(cell.cancelled())},
      {" unmeasured", text(cell.unmeasured())},
      {" not run", cell.not_run() ? "1" : "0"},
      {" mean", CsvNumber(cell.has_mean(), cell.mean())},
      {" median", CsvNumber(cell.has_median(), cell.median())},
      {" best", CsvNumber(cell.has_best(), cell.best())},
      {" is best", cell.is_best() ? "1" : "0"},
      {" difference", CsvNumber(cell.has_difference(), cell.difference())},
      {" difference low", CsvNumber(cell.has_difference_low(), cell.difference_low())},
      {" difference high", CsvNumber(cell.has_difference_high(), cell.difference_high())},
      {" welch p", CsvNumber(cell.has_welch_p(), cell.welch_p())},
      {" paired p", CsvNumber(cell.has_paired_p(), cell.paired_p())},
      {" pairs", cell.has_pairs() ? text(cell.pairs()) : ""},
      {" paired difference", CsvNumber(cell.has_paired_difference(), cell.paired_difference())},
      {" paired low", CsvNumber(cell.has_paired_low(), cell.paired_low())},
      {" paired high", CsvNumber(cell.has_paired_high(), cell.paired_high())},
      {" published", published(cell.has_published_mean(), cell.published_mean())},
      {" published std", published(cell.has_published_std(), cell.published_std())},
      {" published differs in", absl::StrJoin(cell.published_differs_in(), "; ")},
      {" chosen", cell.chosen()},
      {" trials", absl::StrJoin(cell.trials(), " ")},
  };
}

}  // namespace

std::string WriteCsvTable(const v1::Table& table) {
  std::vector<std::string> line(table.row_headings().begin(), table.row_headings().end());
  std::string out;
  const auto flush = [&] {
    absl::StrAppend(&out,
                    absl::StrJoin(line, ",",
                                  [](std::string* to, const std::string& field) {
                                    *to += CsvField(Shown(field, Layout::kLines));
                                  }),
                    "\r\n");
  };
  for (const std::string& heading : table.column_headings()) {
    for (const auto& [part, value] : FieldsOf({}, v1::TableColumn::MEAN))
      line.push_back(absl::StrCat(heading, part));
  }
  flush();
  for (const v1::TableRow& row : table.rows()) {
    line.assign(row.labels().begin(), row.labels().end());
    for (int i = 0; i < row.cells_size(); ++i) {
      for (auto& [part, value] : FieldsOf(row.cells(i), StatisticOf(table, i)))
        line.push_back(std::move(value));
    }
    flush();
  }
  return out;
}

}  // namespace inlier
