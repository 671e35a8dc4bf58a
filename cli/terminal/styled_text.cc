#include "cli/terminal/styled_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace inlier {

StyledLine& StyledLine::Add(std::string_view text, Style style) {
  std::string shown = Shown(text, Layout::kCell);
  columns_ += Columns(shown);
  if (!shown.empty()) spans_.push_back({std::move(shown), style});
  return *this;
}

StyledLine& StyledLine::AddCell(std::string_view text, int columns, Style style) {
  const int end = columns_ + std::max(0, columns);
  Add(Shorten(Shown(text, Layout::kCell), columns), style);
  return PadTo(end);
}

StyledLine& StyledLine::PadTo(int column) {
  if (column > columns_) Add(std::string(static_cast<std::size_t>(column - columns_), ' '));
  return *this;
}

StyledLine& StyledLine::CutTo(int columns) {
  if (columns_ <= columns) return *this;
  std::vector<Span> kept;
  int left = std::max(0, columns);
  for (Span& span : spans_) {
    if (left == 0) break;
    const int wide = Columns(span.text);
    const bool last = wide >= left;
    if (last) span.text = Shorten(absl::StrCat(span.text, " "), left);
    left -= last ? left : wide;
    kept.push_back(std::move(span));
  }
  spans_ = std::move(kept);
  columns_ = 0;
  for (const Span& span : spans_) columns_ += Columns(span.text);
  return *this;
}

std::string StyledLine::Text() const {
  std::string text;
  for (const Span& span : spans_) text += span.text;
  return text;
}

std::string BarText(double share, int columns) {
  static const char* const kPartial[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  share = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  const int eighths = static_cast<int>(share * columns * 8 + 1e-9);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  if (eighths / 8 < columns) {
    bar += kPartial[eighths % 8];
    for (int i = eighths / 8 + (eighths % 8 > 0 ? 1 : 0); i < columns; ++i) bar += "·";
  }
  return bar;
}

std::string Sparkline(const std::deque<double>& values, int columns) {
  static const char* const kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr int kTop = 7;
  const auto size = static_cast<int>(values.size());
  const int cells = std::min(size, columns);
  if (cells <= 0) return "";
  std::vector<double> means;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int cell = 0; cell < cells; ++cell) {
    const int first = cell * size / cells, end = (cell + 1) * size / cells;
    double sum = 0;
    for (int i = first; i < end; ++i) sum += values[static_cast<std::size_t>(i)];
    means.push_back(sum / (end - first));
    if (!std::isfinite(means.back())) continue;
    low = std::min(low, means.back());
    high = std::max(high, means.back());
  }
  std::string text;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      text += "×";
    } else {
      text +=
          kLevels[high > low ? static_cast<int>(std::lround((mean - low) / (high - low) * kTop)) : kTop / 2];
    }
  }
  return text;
}

}  // namespace inlier
