// A figure as a script of gnuplot with its data.
//
// Words of users are in single quotes, in which gnuplot expands nothing, without control characters; "'" becomes "’", as
// gnuplot does not always take a doubled one for a quote. No text is "enhanced" (where "^" and "_" would mean something).
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_PLOTS_GNUPLOT_SCRIPT_H_
#define INLIER_CLI_PLOTS_GNUPLOT_SCRIPT_H_

#include <cstdint>
#include <string>

#include "results/figures/figure.h"

namespace inlier {

enum class PictureFormat { kSvg, kPdf, kPng };

// Pixels an inch.
inline constexpr std::uint32_t kDpi = 192, kDpiLeast = 20, kDpiMost = 1200;

// A text as a gnuplot constant.
std::string GnuplotText(const std::string& text);

// Blocks of numbers, separated as `index` counts them: one a series, or one a grid.
std::string GnuplotData(const Figure& figure);

// Draws the numbers of `data_file` into `picture_file`; both are names without a quote or a control character. `dpi`: of a .png.
std::string GnuplotScript(const Figure& figure, PictureFormat format, std::uint32_t dpi,
                          const std::string& data_file, const std::string& picture_file);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_GNUPLOT_SCRIPT_H_
