// Which weights OrthoAdam rotates, on which axes, and with which matrices.
//
// Every matrix is a function of (rotation_seed, parameter's name, axis, size of the axis or block, block)
// alone and is computed at every start; only a checksum of it is stored.
#ifndef INLIER_CORE_OPTIM_DRAW_ROTATIONS_H_
#define INLIER_CORE_OPTIM_DRAW_ROTATIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/optim/parameter_groups.h"
#include "core/optim/rotation.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

// InvalidArgument, starting with the field, when an axis to rotate cannot have a matrix of the spec's kind:
// Hadamard matrices have a power of two.
absl::Status CheckRotations(const v1::OrthoAdamSpec& spec, const std::vector<NamedParameter>& parameters);

// The rotations by parameter's name, float64 on the CPU: of the matrices, and with RESIDUAL of the larger tensors that
// write the stream, on the axes that spec.side() names (weight_axes.h) if they are 2 or longer and not excluded by
// max_size; parameters without any are not in the map.  REQUIRES: CheckRotations is OK.
std::map<std::string, Rotation> DrawRotations(const v1::OrthoAdamSpec& spec,
                                              const std::vector<NamedParameter>& parameters);

}  // namespace inlier

#endif  // INLIER_CORE_OPTIM_DRAW_ROTATIONS_H_
