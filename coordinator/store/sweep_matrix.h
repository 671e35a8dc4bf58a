// All trials of a sweep in packed arrays, for programs that draw them.
#ifndef INLIER_COORDINATOR_STORE_SWEEP_MATRIX_H_
#define INLIER_COORDINATOR_STORE_SWEEP_MATRIX_H_

#include "absl/status/statusor.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// Trials are in the order of their ids, without those that an edit withdrew; labels of an axis in the order
// in which they come, "" where it does not apply. Blocking. InvalidArgument unless the name is a final
// measurement of a whole model.
absl::StatusOr<v1::SweepMatrix> ReadMatrix(Reader& reader, const v1::GetMatrixRequest& request,
                                           const std::string& caller);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_SWEEP_MATRIX_H_
