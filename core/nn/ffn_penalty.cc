#include "core/nn/ffn_penalty.h"

#include "core/nn/precision.h"

namespace inlier {

void FfnPenalty::AddOutput(const at::Tensor& x) {
  AddMean(AtLeastFloat32(x).div(scaled_.tau).abs().pow(scaled_.power).mean());
}

}  // namespace inlier
