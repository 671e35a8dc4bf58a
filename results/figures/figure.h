// A figure as numbers and words: what is drawn, and what its CSV (cli/plots/figure_csv.h) holds.
#ifndef INLIER_RESULTS_FIGURES_FIGURE_H_
#define INLIER_RESULTS_FIGURES_FIGURE_H_

#include <limits>
#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "results/statistics/nested_results.h"
#include "spec/sweep/figure_checks.h"
#include "spec/sweep/label_groups.h"

namespace inlier {

struct FigurePoint {
  double x = std::numeric_limits<double>::quiet_NaN();  // NaN for BARS and a level.
  Summary y;
  std::string trial;  // SCATTER.
};

struct FigureSeries {
  std::vector<std::string> labels;  // As many as Figure.series_headings.
  std::vector<FigurePoint> points;  // CURVES, AGAINST, LAYERS: by growing x.
  // AGAINST: its one point has no x (vanilla has no gamma); a horizontal line, with this name after the labels.
  bool level = false;
  std::string level_name;
};

struct Figure {
  v1::FigureSpec::Kind kind = v1::FigureSpec::CURVES;
  std::string title;
  std::string x_title, y_title;
  std::string value_title;            // The title of a grid's colours.
  bool log_x = false, log_y = false;  // log_y is for the colours of a grid.
  double width_mm = 120, height_mm = 80;
  std::vector<std::string> notes;  // The meaning and the extent of n; trials that are not drawn.

  // Sets kind, title, scale and size.
  void TakeForm(const v1::FigureSpec& spec) {
    kind = spec.kind();
    title = spec.title();
    log_x = spec.log_x();
    log_y = spec.log_y();
    width_mm = spec.width_mm();
    height_mm = spec.height_mm();
  }

  std::string x_heading, y_heading;  // In the CSV.
  std::vector<std::string> series_headings;
  std::vector<FigureSeries> series;

  // The grid of HEAT_MAP and of models: cells[row][column].
  std::vector<std::string> rows, columns;
  std::vector<std::vector<Summary>> cells;
  bool token_rows = false, token_columns = false;  // They are tokens, in the order of a text.
  bool downwards = false;                          // The first row is on top.
  // HEADS: square tiles of the grid, with a line between them.
  struct Tiles {
    std::size_t count = 0, columns = 0, size = 0;  // `columns` of them side by side, each of size x size.
    // The first row and column of tile `head`.
    std::size_t Row(std::size_t head) const { return head / columns * (size + 1); }
    std::size_t Column(std::size_t head) const { return head % columns * (size + 1); }
  };
  Tiles tiles;
};

// True for HEAT_MAP and the kinds of one model; the others have series.
inline bool HasGrid(v1::FigureSpec::Kind kind) { return kind == v1::FigureSpec::HEAT_MAP || IsOfModel(kind); }

// "BERT, clipped"; "" for a series without labels.
inline std::string SeriesName(const FigureSeries& series) {
  std::vector<std::string> words = series.labels;
  words.push_back(series.level_name);
  return JoinLabels(words, ", ");
}

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_H_
