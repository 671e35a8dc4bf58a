#include "cli/plots/gnuplot_script.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "results/figures/figure_ends.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

using v1::FigureSpec;

// Okabe and Ito 2008, distinct for colour-blind people too; their yellow is too pale for lines on white.
constexpr const char* kColours[] = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                    "#56B4E9", "#CC79A7", "#000000"};
constexpr int kPoints[] = {7, 5, 9, 13, 11, 4, 6};  // Shapes, filled ones first.
constexpr std::size_t kColourCount = std::size(kColours);
constexpr std::size_t kDashes = 5;
// Viridis: as readable in grey.
constexpr char kPalette[] =
    "set palette defined (0 '#440154', 1 '#482878', 2 '#3e4989', 3 '#31688e', 4 '#26828e', 5 '#1f9e89', "
    "6 '#35b779', 7 '#6ece58', 8 '#b5de2b', 9 '#fde725')\n";
constexpr std::size_t kTextColumns = 90;  // Of a title; a longer one is cut.
constexpr std::size_t kTicTexts = 64;     // Named tics of an axis; beyond, every k-th has its number.
constexpr std::size_t kCellsWithNumbers = 100;
constexpr std::size_t kBoxes = 4000;  // Cells drawn as boxes; a larger grid is one image.
constexpr std::size_t kLegendLines = 24;

std::string OneLine(const std::string& text) {
  const std::string shown = Shown(text, Layout::kCell);
  return Columns(shown) > static_cast<int>(kTextColumns) ? Cut(shown, kTextColumns - 1) + "…" : shown;
}

// Tics have formats: "%" is "%%".
std::string TicText(const std::string& text) { return GnuplotText(absl::StrReplaceAll(text, {{"%", "%%"}})); }

std::string Range(const Ends& ends) {
  return absl::StrCat(" [", FormatNumber(ends.low), ":", FormatNumber(ends.high), "]\n");
}

// Places of bars, from 0: those of one first label side by side.
struct BarPlaces {
  std::vector<double> x;             // By series.
  std::vector<std::size_t> colours;  // By series.
  std::vector<std::pair<std::string, double>> tics;
  std::vector<std::string> legend;  // By colour; empty: the tics name all bars.
};

BarPlaces PlacesOf(const Figure& figure) {
  BarPlaces places;
  const bool nested = figure.series_headings.size() > 1;
  double x = 0, begin = 0;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const std::vector<std::string>& labels = figure.series[i].labels;
    const std::string first = labels.empty() ? "" : labels[0];
    const bool next = i == 0 || !nested || first != figure.series[i - 1].labels[0];
    if (i > 0) x += !next ? 1 : nested ? 1.6 : 1.3;
    if (next) {
      begin = x;
      places.tics.emplace_back(first, x);
    } else {
      places.tics.back().second = (begin + x) / 2;
    }
    places.x.push_back(x);
    if (!nested) {
      places.colours.push_back(0);
      continue;
    }
    const std::string rest = absl::StrJoin(labels.begin() + 1, labels.end(), ", ");
    const auto found = std::ranges::find(places.legend, rest);
    places.colours.push_back(static_cast<std::size_t>(found - places.legend.begin()));
    if (found == places.legend.end()) places.legend.push_back(rest);
  }
  return places;
}

class Script {
 public:
  Script(const Figure& figure, const std::string& data_file)
      : figure_(figure), data_("'" + data_file + "'") {}

  std::string Write(PictureFormat format, std::uint32_t dpi, const std::string& picture_file) {
    Terminal(format, dpi, picture_file);
    Words();
    if (figure_.log_x) {
      Add("set logscale x\n");
      LogTics("x", XEnds(figure_));
    }
    if (figure_.log_y && !HasGrid(figure_.kind)) {
      Add("set logscale y\nset yrange", Range(YEnds(figure_)));
      LogTics("y", YEnds(figure_));
    }
    switch (figure_.kind) {
      case FigureSpec::CURVES:
      case FigureSpec::AGAINST:
      case FigureSpec::LAYERS:
        Lines();
        break;
      case FigureSpec::BARS:
        Bars();
        break;
      case FigureSpec::SCATTER:
        Points();
        break;
      default:
        Grid();
    }
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    absl::StrAppend(&out_, parts...);
  }

  void Terminal(PictureFormat format, std::uint32_t dpi, const std::string& picture_file) {
    constexpr double kScreenDpi = 96;  // Of gnuplot, for sizes of words and lines.
    const double per_mm = (format == PictureFormat::kPng ? dpi : kScreenDpi) / 25.4;
    const std::string size =
        absl::StrCat(std::lround(figure_.width_mm * per_mm), ",", std::lround(figure_.height_mm * per_mm));
    small_ = format == PictureFormat::kSvg ? 9 : 7;
    const std::string scale = FormatNumber(dpi / kScreenDpi);
    Add("set encoding utf8\n");
    switch (format) {
      case PictureFormat::kSvg:
        Add("set terminal svg noenhanced size ", size, " font 'Arial,11' background rgb 'white'\n");
        break;
      case PictureFormat::kPdf:
        Add("set terminal pdfcairo noenhanced size ", FormatNumber(figure_.width_mm / 10), "cm,",
            FormatNumber(figure_.height_mm / 10), "cm font 'Sans,8' fontscale 1 background rgb 'white'\n");
        break;
      case PictureFormat::kPng:
        Add("set terminal pngcairo noenhanced size ", size, " font 'Sans,8' fontscale ", scale, " linewidth ",
            scale, " pointscale ", scale, " background rgb 'white'\n");
        break;
    }
    Add("set output '", picture_file, "'\nset datafile missing 'NaN'\nset termoption noenhanced\n");
  }

  // Titles and notes, which need lines above the plot.
  void Words() {
    const std::string notes = absl::StrJoin(figure_.notes, "; ");
    const int lines = (figure_.title.empty() ? 0 : 1) + (notes.empty() ? 0 : 1);
    Add("set tmargin ", lines == 0 ? "1" : lines == 1 ? "2" : "3.4", "\n");
    if (!figure_.title.empty())
      Add("set label 1 ", GnuplotText(figure_.title), " at graph 0.5, 1 center offset 0,",
          notes.empty() ? "0.8" : "2.1", " noenhanced\n");
    if (!notes.empty())
      Add("set label 2 ", GnuplotText(notes), " at graph 0.5, 1 center offset 0,0.8 noenhanced font ',",
          small_, "' textcolor rgb '#555555'\n");
    if (!figure_.x_title.empty()) Add("set xlabel ", GnuplotText(figure_.x_title), " noenhanced\n");
    if (!figure_.y_title.empty()) Add("set ylabel ", GnuplotText(figure_.y_title), " noenhanced\n");
    Add("set border 3 linecolor rgb '#444444'\nset tics nomirror out scale 0.6\nset xtics noenhanced\n",
        "set ytics noenhanced\nset grid ytics linecolor rgb '#dddddd' linetype 1\n");
  }

  // A legend below the plot.
  void Legend(std::size_t lines) {
    if (lines < 2 || lines > kLegendLines) {
      Add("set key off\n");
      return;
    }
    Add("set key bmargin center horizontal reverse Left noenhanced samplen 2.5\n");
    // A title in any case: without one gnuplot draws the legend over the words of the x axis.
    const std::string title = absl::StrJoin(figure_.series_headings, ", ");
    Add("set key title ", GnuplotText(title.empty() ? " " : title), " noenhanced left\n");
  }

  void Plot(const std::vector<std::string>& parts) {
    Add("plot ", absl::StrJoin(parts, ", \\\n     "), "\n");
  }

  std::string Block(std::size_t index) const { return absl::StrCat(data_, " index ", index); }
  static std::string Colour(std::size_t style) {
    return absl::StrCat("linecolor rgb '", kColours[style % kColourCount], "'");
  }

  void LogTics(const char* axis, const Ends& ends) {
    std::vector<std::string> tics;
    for (const double tic : ends.LogTics()) {
      const std::string text = absl::StrFormat("%.6g", tic);
      tics.push_back(absl::StrCat("'", text, "' ", text));
    }
    if (!tics.empty()) Add("set ", axis, "tics (", absl::StrJoin(tics, ", "), ")\n");
  }

  // From mean - std to mean + std, with caps. (gnuplot's own error bars have a white spot in their middle.)
  std::string ErrorBars(std::size_t index, const std::string& colour) const {
    return absl::StrCat(Block(index), " using 1:3:(0):($4-$3) with vectors heads size screen 0.008,90 ",
                        colour, " linewidth 1 notitle");
  }

  void Lines() {
    Legend(figure_.series.size());
    const bool against = figure_.kind != FigureSpec::CURVES;  // Points that are joined, with error bars.
    if (against) Add("set xrange", Range(XEnds(figure_)));
    std::vector<std::string> bands, lines;
    std::size_t style = 0;
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      const FigureSeries& series = figure_.series[i];
      // A level has the colour of the line that it belongs to.
      const bool of_line = series.level && i > 0 && figure_.series[i - 1].labels == series.labels;
      if (i > 0 && !of_line) ++style;
      const std::string colour = Colour(style);
      const bool spread =
          std::ranges::any_of(series.points, [](const FigurePoint& point) { return point.y.n > 1; });
      if (spread && (!against || series.level)) {
        bands.push_back(absl::StrCat(Block(i), " using 1:3:4 with filledcurves ", colour,
                                     " fillstyle transparent solid ", series.level ? "0.12" : "0.22",
                                     " noborder notitle"));
      }
      // The one line that has levels next to it, and no label.
      const std::string name = SeriesName(series).empty() ? figure_.x_heading : SeriesName(series);
      const std::size_t dash = series.level ? 2 : 1 + style / kColourCount % kDashes;
      const bool marked = against && !series.level;
      if (marked && spread) lines.push_back(ErrorBars(i, colour));
      lines.push_back(absl::StrCat(
          Block(i), " using 1:2 with lines", marked ? "points " : " ", colour, " dashtype ", dash,
          " linewidth 1.5 ",
          marked ? absl::StrCat("pointtype ", kPoints[style % kColourCount], " pointsize 0.6 ") : "",
          "title ", GnuplotText(name)));
    }
    bands.insert(bands.end(), lines.begin(), lines.end());
    Plot(bands);
  }

  void Bars() {
    const BarPlaces places = PlacesOf(figure_);
    Legend(places.legend.size());
    if (figure_.series_headings.size() > 1)
      Add("set key title ",
          GnuplotText(
              absl::StrJoin(figure_.series_headings.begin() + 1, figure_.series_headings.end(), ", ")),
          " noenhanced left\nset xlabel ", GnuplotText(figure_.series_headings[0]), " noenhanced\n");
    std::vector<std::string> texts;
    for (const auto& [label, x] : places.tics) texts.push_back(label);
    Tics("x", texts, [&](std::size_t i) { return places.tics[i].second; });
    Add("set boxwidth 0.9\nset style fill solid 0.75 noborder\nset xrange [-0.9:",
        FormatNumber(places.x.back() + 0.9), "]\n");
    if (!figure_.log_y) Add("set yrange [", AnyBelowZero() ? "*" : "0", ":*]\n");
    std::vector<std::string> parts;
    std::vector<bool> named(places.legend.size(), false);
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      const std::size_t style = places.colours[i];
      const bool first = !places.legend.empty() && !named[style];
      if (first) named[style] = true;
      parts.push_back(absl::StrCat(
          Block(i), " using 1:2 with boxes ", Colour(style),
          style >= kColourCount ? absl::StrCat(" fillstyle pattern ", 1 + style / kColourCount) : "",
          first ? " title " + GnuplotText(places.legend[style]) : " notitle"));
    }
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      if (figure_.series[i].points[0].y.n < 2) continue;
      parts.push_back(ErrorBars(i, "linecolor rgb '#222222'"));
    }
    Plot(parts);
  }

  bool AnyBelowZero() const {
    return std::ranges::any_of(figure_.series,
                               [](const FigureSeries& series) { return series.points[0].y.min < 0; });
  }

  void Points() {
    Legend(figure_.series.size());
    Add("set grid xtics ytics linecolor rgb '#dddddd' linetype 1\nset xrange", Range(XEnds(figure_)),
        "set yrange", Range(YEnds(figure_)));
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      const std::size_t turn = i / kColourCount;
      parts.push_back(absl::StrCat(Block(i), " using 1:2 with points ", Colour(i), " pointtype ",
                                   kPoints[(i + turn) % kColourCount], " pointsize 0.8 title ",
                                   GnuplotText(SeriesName(figure_.series[i]))));
    }
    Plot(parts);
  }

  // Words at places of an axis; where they are many, the number of every k-th.
  template <typename PlaceOf>
  void Tics(const char* axis, const std::vector<std::string>& texts, const PlaceOf& place_of) {
    std::vector<std::string> tics;
    int longest = 0, all = 0;
    const std::size_t every = texts.size() <= kTicTexts ? 1 : RoundStep(texts.size());
    for (std::size_t i = 0; i < texts.size(); i += every) {
      const std::string text =
          texts.size() <= kTicTexts ? Cut(Shown(texts[i], Layout::kCell), 24) : absl::StrCat(i);
      longest = std::max(longest, Columns(text));
      all += Columns(text) + 2;
      tics.push_back(absl::StrCat(TicText(text), " ", FormatNumber(place_of(i))));
    }
    const bool crowded = axis[0] == 'x' && all * 1.7 > figure_.width_mm - 25;
    Add("set ", axis, "tics (", absl::StrJoin(tics, ", "), ")",
        crowded ? (longest > 3 && tics.size() > 12 ? " rotate by 90 right" : " rotate by 35 right") : "",
        tics.size() > 20 ? absl::StrCat(" font ',", small_ - 2, "'") : "", "\n");
  }

  // White lines between the tiles, and the number of each head in its corner, in place of tics.
  void TileNames() {
    const Figure::Tiles& tiles = figure_.tiles;
    Add("unset xtics\nunset ytics\n");
    const std::string line = " nohead front linecolor rgb '#ffffff' linewidth 2\n";
    for (std::size_t i = 1; i < tiles.columns; ++i) {
      const std::size_t x = i * (tiles.size + 1) - 1;
      Add("set arrow from ", x, ",graph 0 to ", x, ",graph 1", line);
    }
    for (std::size_t i = 1; i * tiles.columns < tiles.count; ++i) {
      const std::size_t y = i * (tiles.size + 1) - 1;
      Add("set arrow from graph 0,first ", y, " to graph 1,first ", y, line);
    }
    for (std::size_t head = 0; head < tiles.count; ++head) {
      Add("set label 'head ", head, "' at ", tiles.Column(head), ",", tiles.Row(head),
          " offset 0.5,-0.8 front font ',", small_, "' textcolor rgb '#ffffff'\n");
    }
  }

  void Grid() {
    const std::size_t rows = figure_.rows.size(), columns = figure_.columns.size();
    const auto texts_of = [](const std::vector<std::string>& labels, bool tokens) {
      if (!tokens) return labels;
      std::vector<std::string> texts;
      for (const std::string& label : labels)
        texts.push_back(!label.empty() && label[0] == ' ' ? "▁" + label.substr(1) : label);
      return texts;
    };
    const auto same = [](std::size_t i) { return static_cast<double>(i); };
    Add("set key off\nunset grid\nset border linecolor rgb '#444444'\n", kPalette);
    if (figure_.log_y) Add("set logscale cb\n");
    const std::string bottom = "-0.5", top = FormatNumber(static_cast<double>(rows) - 0.5);
    const bool downwards = figure_.downwards;
    Add("set cblabel ", GnuplotText(figure_.value_title),
        " noenhanced\nset xrange [-0.5:", FormatNumber(static_cast<double>(columns) - 0.5), "]\nset yrange [",
        downwards ? top : bottom, ":", downwards ? bottom : top, "]\n");
    if (figure_.tiles.count > 0) {
      TileNames();
    } else {
      Tics("x", texts_of(figure_.columns, figure_.token_columns), same);
      Tics("y", texts_of(figure_.rows, figure_.token_rows), same);
    }
    Add("set object 1 rectangle from graph 0,0 to graph 1,1 behind fillcolor rgb '#cccccc' fillstyle solid "
        "noborder\n");
    const bool boxes = rows * columns <= kBoxes || rows < 2 || columns < 2;
    std::vector<std::string> parts = {
        absl::StrCat(Block(0), boxes ? " using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror "
                                       "linecolor palette fillstyle solid 1 border"
                                     : " using 1:2:3 with image")};
    if (figure_.kind == FigureSpec::HEAT_MAP && rows * columns <= kCellsWithNumbers) {
      const char* colours[] = {"#ffffff", "#000000"};  // On dark and on bright cells.
      for (int bright = 0; bright < 2; ++bright)
        parts.push_back(absl::StrCat(Block(0), " using 1:($4==", bright,
                                     "?$2:1/0):(sprintf('%.4g', $3)) with labels", " font ',", small_,
                                     "' textcolor rgb '", colours[bright], "'"));
    }
    Plot(parts);
  }

  const Figure& figure_;
  const std::string data_;
  int small_ = 9;  // Points of small words.
  std::string out_;
};

// True when a cell is in the bright part of the palette.
bool IsBright(const Figure& figure, double value) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& row : figure.cells) {
    for (const Summary& cell : row) {
      if (cell.n == 0) continue;
      low = std::min(low, cell.mean);
      high = std::max(high, cell.mean);
    }
  }
  if (!(high > low)) return false;
  return figure.log_y ? std::log(value / low) > 0.55 * std::log(high / low)
                      : value - low > 0.55 * (high - low);
}

std::string GridData(const Figure& figure) {
  std::string data;
  const bool numbers =
      figure.kind == FigureSpec::HEAT_MAP && figure.rows.size() * figure.columns.size() <= kCellsWithNumbers;
  for (std::size_t r = 0; r < figure.rows.size(); ++r) {
    for (std::size_t c = 0; c < figure.columns.size(); ++c) {
      const double value = figure.cells[r][c].mean;
      absl::StrAppend(&data, c, " ", r, " ", FormatNumber(value),
                      numbers ? IsBright(figure, value) ? " 1" : " 0" : "", "\n");
    }
  }
  return data;
}

}  // namespace

std::string GnuplotText(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(OneLine(text), {{"'", "’"}}), "'");
}

std::string GnuplotData(const Figure& figure) {
  if (HasGrid(figure.kind)) return GridData(figure);
  std::string data;
  const BarPlaces bars = figure.kind == FigureSpec::BARS ? PlacesOf(figure) : BarPlaces();
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    const FigureSeries& series = figure.series[i];
    if (i > 0) data += "\n\n";
    for (const FigurePoint& point : series.points) {
      const auto [low, high] = Spread(point.y, figure.log_y);
      const std::string numbers = absl::StrCat(" ", FormatNumber(point.y.mean), " ", FormatNumber(low), " ",
                                               FormatNumber(high), "\n");
      if (series.level) {
        const Ends ends = XEnds(figure);
        absl::StrAppend(&data, FormatNumber(ends.low), numbers, FormatNumber(ends.high), numbers);
      } else {
        absl::StrAppend(&data, FormatNumber(bars.x.empty() ? point.x : bars.x[i]), numbers);
      }
    }
  }
  return data;
}

std::string GnuplotScript(const Figure& figure, PictureFormat format, std::uint32_t dpi,
                          const std::string& data_file, const std::string& picture_file) {
  return Script(figure, data_file).Write(format, dpi, picture_file);
}

}  // namespace inlier
