// The table of a sweep that names none.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_
#define INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_

#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// The table that is asked for. Without columns it changes fields of the sweep's own table, or, where that lacks columns
// too, of one with all axes but the seeds as rows and the usual measurements as columns; other rows remove its baseline.
v1::TableSpec TableAskedFor(const v1::TableSpec& asked, const v1::SweepSpec& sweep);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_
