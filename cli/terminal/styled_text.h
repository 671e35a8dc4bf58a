// Lines of styled cells: the drawing that the screen shows. Pure; no terminal is needed to make or test one.
#ifndef INLIER_CLI_TERMINAL_STYLED_TEXT_H_
#define INLIER_CLI_TERMINAL_STYLED_TEXT_H_

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace inlier {

enum class Style {
  kPlain,
  kDim,
  kStrong,
  kGood,  // Done, connected.
  kBad,   // Failed, lost.
  kWarn,  // Paused, diverged, draining.
  kBar,
};

struct Span {
  std::string text;  // Shown (output.h).
  Style style = Style::kPlain;
};

// One line. Texts are Shown as cells when they are added, so that no name can control the terminal.
class StyledLine {
 public:
  StyledLine() = default;
  explicit StyledLine(std::string_view text, Style style = Style::kPlain) { Add(text, style); }

  StyledLine& Add(std::string_view text, Style style = Style::kPlain);
  // `text` in `columns`: padded with spaces, or cut with "…" as the last of them.
  StyledLine& AddCell(std::string_view text, int columns, Style style = Style::kPlain);
  // Spaces up to that column.
  StyledLine& PadTo(int column);
  // Cuts what is beyond `columns`, with "…" as the last of them.
  StyledLine& CutTo(int columns);
  // The whole line in reverse video.
  StyledLine& Select() {
    selected_ = true;
    return *this;
  }

  const std::vector<Span>& spans() const { return spans_; }
  bool selected() const { return selected_; }
  int columns() const { return columns_; }
  std::string Text() const;  // Without styles.

 private:
  std::vector<Span> spans_;
  int columns_ = 0;
  bool selected_ = false;
};

using Drawing = std::vector<StyledLine>;

// The size that a drawing fills.
struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

// "████▌·····": `share` of 0 … 1 in `columns`.
std::string BarText(double share, int columns);

// "▇▆▅▃▂▁" in at most `columns`: the values from lowest to highest, each column the mean of its part of them; values that are
// not finite are "×".
std::string Sparkline(const std::deque<double>& values, int columns);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_STYLED_TEXT_H_
