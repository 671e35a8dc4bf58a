#include "cli/plots/figure_csv.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

using v1::FigureSpec;

std::string Number(double value) { return std::isfinite(value) ? FormatNumber(value) : ""; }

void AppendLine(const std::vector<std::string>& fields, std::string* out) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    absl::StrAppend(out, i == 0 ? "" : ",", CsvField(Shown(fields[i], Layout::kCell)));
  absl::StrAppend(out, "\r\n");
}

// Some number is a mean over evaluations of a training: two more columns.
bool HasEvaluations(const Figure& figure) {
  const auto has = [](const Summary& y) { return y.evaluations > 1; };
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      if (has(point.y)) return true;
    }
  }
  return std::ranges::any_of(figure.cells, [&](const auto& row) { return std::ranges::any_of(row, has); });
}

void AppendSummary(const Summary& y, bool evaluations, std::vector<std::string>* fields) {
  fields->insert(fields->end(),
                 {Number(y.mean), Number(y.std), absl::StrCat(y.n), Number(y.min), Number(y.max)});
  if (evaluations) fields->insert(fields->end(), {absl::StrCat(y.evaluations), Number(y.within_std)});
}

void AppendSummaryHeadings(bool evaluations, std::vector<std::string>* fields) {
  fields->insert(fields->end(), {"std", "n", "min", "max"});
  if (evaluations) fields->insert(fields->end(), {"evaluations", "within std"});
}

std::string SeriesCsv(const Figure& figure) {
  std::string out;
  const bool has_x = figure.kind != FigureSpec::BARS, scatter = figure.kind == FigureSpec::SCATTER;
  const bool evaluations = HasEvaluations(figure);
  std::vector<std::string> line = figure.series_headings;
  if (scatter) line.insert(line.begin(), "trial");
  if (has_x) line.push_back(figure.x_heading);
  line.push_back(scatter ? figure.y_heading : figure.y_heading + " mean");
  if (!scatter) AppendSummaryHeadings(evaluations, &line);
  AppendLine(line, &out);
  for (const FigureSeries& series : figure.series) {
    for (const FigurePoint& point : series.points) {
      line = series.labels;
      if (scatter) line.insert(line.begin(), point.trial);
      if (has_x) line.push_back(Number(point.x));
      if (scatter) {
        line.push_back(Number(point.y.mean));
      } else {
        AppendSummary(point.y, evaluations, &line);
      }
      AppendLine(line, &out);
    }
  }
  return out;
}

std::string TilesCsv(const Figure& figure) {
  std::string out;
  AppendLine({"head", figure.y_heading, figure.x_heading, figure.value_title}, &out);
  const Figure::Tiles& tiles = figure.tiles;
  for (std::size_t head = 0; head < tiles.count; ++head) {
    const std::size_t row = tiles.Row(head), column = tiles.Column(head);
    for (std::size_t r = 0; r < tiles.size; ++r) {
      for (std::size_t c = 0; c < tiles.size; ++c) {
        AppendLine({absl::StrCat(head), absl::StrCat(r), absl::StrCat(c),
                    Number(figure.cells[row + r][column + c].mean)},
                   &out);
      }
    }
  }
  return out;
}

std::string GridCsv(const Figure& figure) {
  std::string out;
  const bool of_model = figure.kind != FigureSpec::HEAT_MAP, evaluations = HasEvaluations(figure);
  // One token may be at several positions: they are numbered, from 0.
  std::vector<std::string> line;
  if (of_model) {
    line = {figure.y_heading, figure.x_heading, figure.value_title};
    if (figure.token_columns) line.insert(line.begin() + 2, "token");
    if (figure.token_rows) line.insert(line.begin() + 1, figure.y_heading + "_token");
  } else {
    line = {figure.x_heading, figure.y_heading, figure.value_title + " mean"};
    AppendSummaryHeadings(evaluations, &line);
  }
  AppendLine(line, &out);
  for (std::size_t r = 0; r < figure.rows.size(); ++r) {
    for (std::size_t c = 0; c < figure.columns.size(); ++c) {
      const Summary& cell = figure.cells[r][c];
      if (of_model) {
        line = {figure.rows[r], figure.columns[c], Number(cell.mean)};
        if (figure.token_columns) line.insert(line.begin() + 1, absl::StrCat(c));
        if (figure.token_rows) line.insert(line.begin(), absl::StrCat(r));
      } else {
        if (cell.n == 0) continue;
        line = {figure.columns[c], figure.rows[r]};
        AppendSummary(cell, evaluations, &line);
      }
      AppendLine(line, &out);
    }
  }
  return out;
}

}  // namespace

std::string FigureCsv(const Figure& figure) {
  if (!HasGrid(figure.kind)) return SeriesCsv(figure);
  return figure.tiles.count > 0 ? TilesCsv(figure) : GridCsv(figure);
}

}  // namespace inlier
