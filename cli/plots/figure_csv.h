// The numbers of a figure as comma-separated values.
#ifndef INLIER_CLI_PLOTS_FIGURE_CSV_H_
#define INLIER_CLI_PLOTS_FIGURE_CSV_H_

#include <string>

#include "results/figures/figure.h"

namespace inlier {

// Everything that is drawn, a row a point; numbers with all digits. Control characters are spelt out.
std::string FigureCsv(const Figure& figure);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_FIGURE_CSV_H_
