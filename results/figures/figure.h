// A figure as numbers and words: what is drawn, and what its CSV (cli/plots/figure_csv.h) holds.
#ifndef INLIER_RESULTS_FIGURES_FIGURE_H_
#define INLIER_RESULTS_FIGURES_FIGURE_H_

#include <limits>
#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"
#include "results/statistics/nested_results.h"

namespace inlier {

struct FigurePoint {
  double x = std::numeric_limits<double>::quiet_NaN();  // NaN: it has none (BARS, a level).
  Summary y;
  std::string trial;  // SCATTER.
};

struct FigureSeries {
  std::vector<std::string> labels;  // As many as Figure.series_headings.
  std::vector<FigurePoint> points;  // CURVES, AGAINST, LAYERS: by growing x.
  // AGAINST: its one point has no x (vanilla has no gamma): a horizontal line, with this name after the labels.
  bool level = false;
  std::string level_name;
};

struct Figure {
  v1::FigureSpec::Kind kind = v1::FigureSpec::CURVES;
  std::string title;
  std::string x_title, y_title;
  std::string value_title;            // Of the colours of a grid.
  bool log_x = false, log_y = false;  // log_y: of a grid its colours.
  double width_mm = 120, height_mm = 80;
  std::vector<std::string> notes;  // The meaning and the extent of n; trials that are not drawn.

  std::string x_heading, y_heading;  // In the CSV.
  std::vector<std::string> series_headings;
  std::vector<FigureSeries> series;

  // A grid, of HEAT_MAP and of models: cells[row][column].
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

// HEAT_MAP and the kinds of one model; the others have series.
bool HasGrid(v1::FigureSpec::Kind kind);

// "BERT, clipped"; "" for a series without labels.
std::string SeriesName(const FigureSeries& series);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_FIGURE_H_
