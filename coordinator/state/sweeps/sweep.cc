#include "coordinator/state/sweeps/sweep.h"

#include "coordinator/state/resources.h"

namespace inlier {

void Sweep::SetSpec(v1::SweepSpec made) {
  request = RequestOf(made.resources());
  spec = std::move(made);
}

}  // namespace inlier
