// Which figures a call draws.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_PLOTS_FIGURE_CHOICE_H_
#define INLIER_CLI_PLOTS_FIGURE_CHOICE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// "curves", "heat-map", …
std::vector<std::string> FigureKinds();

// "curves", "heat-map", "HEAT_MAP". InvalidArgument names the kinds.
absl::StatusOr<v1::FigureSpec::Kind> ParseFigureKind(const std::string& text);

// Adds "method=vanilla" to the conditions; a second value of the same name makes a list. Numbers are numbers. `axes`:
// names that may have an equal sign.
absl::Status AddCondition(const std::string& text, const std::vector<std::string>& axes,
                          v1::FigureSpec* figure);

// With a name each: those of the sweep that are called so, all of them without `names`, and where the sweep has none the
// usual ones: training loss, outlier norms and kurtosis by its axes. NotFound names those that there are.
absl::StatusOr<std::vector<v1::FigureSpec>> ChooseFigures(const v1::SweepSpec& sweep,
                                                          const std::vector<std::string>& names);

// OK when `figure`, which need not be in the sweep, can be drawn of it; InvalidArgument with all problems.
absl::Status CheckAlone(const v1::FigureSpec& figure, const SweepGrid& grid);

}  // namespace inlier

#endif  // INLIER_CLI_PLOTS_FIGURE_CHOICE_H_
