// The table of a sweep that names none.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_
#define INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_

#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// The sweep's own table; where it has no columns: all axes but the seeds (of trainings and calibrations) as rows, the usual measurements as columns.
v1::TableSpec OwnOrDefaultTable(const v1::SweepSpec& sweep);

// The table that is asked for. Without columns it changes fields of OwnOrDefaultTable: other rows take its baseline away.
v1::TableSpec TableAskedFor(const v1::TableSpec& asked, const v1::SweepSpec& sweep);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_DEFAULT_TABLE_H_
