#include "cli/plots/figure.h"

#include <algorithm>
#include <cmath>

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
  return std::any_of(figure.cells.begin(), figure.cells.end(),
                     [&](const auto& row) { return std::any_of(row.begin(), row.end(), has); });
}

void AppendSummary(const Summary& y, bool evaluations, std::vector<std::string>* fields) {
  fields->insert(fields->end(),
                 {Number(y.mean), Number(y.std), absl::StrCat(y.n), Number(y.min), Number(y.max)});
  if (evaluations) fields->insert(fields->end(), {absl::StrCat(y.evaluations), Number(y.within_std)});
}

// Of all columns of AppendSummary but the first.
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

std::string GridCsv(const Figure& figure) {
  std::string out;
  const bool of_model = figure.kind != FigureSpec::HEAT_MAP, evaluations = HasEvaluations(figure);
  // One token may be at several positions: they are numbered, from 0.
  std::vector<std::string> line;
  if (of_model) {
    line = {figure.y_heading, figure.x_heading};
    if (HasTokens(figure.kind)) line.push_back("token");
    if (figure.kind == FigureSpec::ATTENTION) line.insert(line.begin() + 1, "query_token");
    line.push_back(figure.value_title);
  } else {
    line = {figure.x_heading, figure.y_heading, figure.value_title + " mean"};
    AppendSummaryHeadings(evaluations, &line);
  }
  AppendLine(line, &out);
  for (std::size_t r = 0; r < figure.rows.size(); ++r) {
    for (std::size_t c = 0; c < figure.columns.size(); ++c) {
      const Summary& cell = figure.cells[r][c];
      if (!of_model) {
        if (cell.n == 0) continue;
        line = {figure.columns[c], figure.rows[r]};
        AppendSummary(cell, evaluations, &line);
      } else if (figure.kind == FigureSpec::ATTENTION) {
        line = {absl::StrCat(r), figure.rows[r], absl::StrCat(c), figure.columns[c], Number(cell.mean)};
      } else if (figure.kind == FigureSpec::TOKENS) {
        line = {figure.rows[r], absl::StrCat(c), figure.columns[c], Number(cell.mean)};
      } else {
        line = {figure.rows[r], figure.columns[c], Number(cell.mean)};
      }
      AppendLine(line, &out);
    }
  }
  return out;
}

}  // namespace

bool HasGrid(FigureSpec::Kind kind) {
  return kind != FigureSpec::CURVES && kind != FigureSpec::AGAINST && kind != FigureSpec::BARS &&
         kind != FigureSpec::SCATTER;
}

bool HasTokens(FigureSpec::Kind kind) { return kind == FigureSpec::TOKENS || kind == FigureSpec::ATTENTION; }

std::string SeriesName(const FigureSeries& series) {
  std::string name;
  const auto add = [&name](const std::string& word) {
    if (!word.empty()) absl::StrAppend(&name, name.empty() ? "" : ", ", word);
  };
  for (const std::string& label : series.labels) add(label);
  add(series.level_name);
  return name;
}

std::string FigureCsv(const Figure& figure) {
  return HasGrid(figure.kind) ? GridCsv(figure) : SeriesCsv(figure);
}

}  // namespace inlier
