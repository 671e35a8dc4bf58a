// Figures of one trained model.
//
// Thread safety: pure functions.
#ifndef INLIER_RESULTS_FIGURES_MODEL_FIGURE_H_
#define INLIER_RESULTS_FIGURES_MODEL_FIGURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "results/figures/figure.h"

namespace inlier {

// The figure of a kind that IsOfModel, from the numbers of inlier-trial (core/trial/model_numbers.h); `name` is the
// trial's. Internal when they are of another form; InvalidArgument as BuildFigure.
absl::StatusOr<Figure> BuildModelFigure(const v1::FigureSpec& spec, const std::string& name,
                                        const std::string& numbers);

}  // namespace inlier

#endif  // INLIER_RESULTS_FIGURES_MODEL_FIGURE_H_
