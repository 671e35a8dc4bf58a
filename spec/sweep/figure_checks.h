// Checks of figures of a sweep: fields that fit the kind, names that exist.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_FIGURE_CHECKS_H_
#define INLIER_SPEC_SWEEP_FIGURE_CHECKS_H_

#include <string>

#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/problems.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

inline constexpr int kFiguresMax = 32;           // Of one sweep.
inline constexpr int kFigureSeriesMax = 16;      // Names in `series`.
inline constexpr int kFigureConditionsMax = 32;  // Values in the conditions of one figure.

// True for DIMENSIONS and its followers, with numbers of one trained model that the database lacks.
bool IsOfModel(v1::FigureSpec::Kind kind);

// The name of an unnamed figure: the sweep's name, cut where it is too long for a file, and `ending`.
std::string FigureNameOf(const v1::SweepSpec& sweep, const std::string& ending);

// Problems of one figure, under the prefix `path`. REQUIRES: its declarations hold, except that `kind` may be missing.
void CheckFigure(const v1::FigureSpec& figure, const SweepGrid& grid, const std::string& path,
                 Problems* problems);

// Problems of all figures of `sweep`, and of names that two of them share.
void CheckFigures(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_FIGURE_CHECKS_H_
