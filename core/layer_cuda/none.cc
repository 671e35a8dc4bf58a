// This folder in a build without CUDA.
#include <c10/util/Exception.h>

#include "core/layer_cuda/adam.h"
#include "core/layer_cuda/device.h"
#include "core/layer_cuda/layer.h"
#include "core/layer_cuda/vocabulary_loss.h"

namespace inlier::device {
namespace {

constexpr char kNone[] = "this program was built without kernels for CUDA";

}  // namespace

bool Holds(const at::Tensor&) { return false; }
std::string Obstacle() { return kNone; }
bool CanFuse(std::int64_t, std::int64_t, std::int64_t) { return false; }
bool TakesAdam(const AdamItem&) { return false; }

at::Tensor DropoutFactors(const kernels::Dropout&, const at::Tensor&) { TORCH_CHECK(false, kNone); }
at::Tensor LayerForward(const fused::LayerShape&, const fused::LayerWeights&, const fused::LayerInputs&,
                        fused::LayerSaved&) {
  TORCH_CHECK(false, kNone);
}
fused::LayerGradients LayerBackward(const fused::LayerShape&, const fused::LayerWeights&,
                                    const fused::LayerInputs&, const fused::LayerSaved&, const at::Tensor&) {
  TORCH_CHECK(false, kNone);
}
fused::VocabularyLoss ComputeVocabularyLoss(const fused::VocabularyInputs&, bool) {
  TORCH_CHECK(false, kNone);
}
void AdamStep(const AdamOptions&, const std::vector<AdamItem>&, const at::Tensor&, at::Tensor&) {
  TORCH_CHECK(false, kNone);
}

}  // namespace inlier::device
