// This folder in a build without CUDA.
#include <c10/util/Exception.h>

#include "core/layer_cuda/adam.h"
#include "core/layer_cuda/layer.h"

namespace inlier::layer::gpu {
namespace {

constexpr char kNone[] = "this program was built without kernels for CUDA";

}  // namespace

bool Holds(const at::Tensor&) { return false; }
std::string Obstacle() { return kNone; }
bool CanFuse(std::int64_t, std::int64_t, std::int64_t) { return false; }
bool TakesAdam(const AdamItem&) { return false; }

at::Tensor DropoutFactors(const kernels::Dropout&, const at::Tensor&) { TORCH_CHECK(false, kNone); }
Result LayerForward(Call&) { TORCH_CHECK(false, kNone); }
Gradients LayerBackward(const Call&, const at::Tensor&) { TORCH_CHECK(false, kNone); }
VocabularyResult ComputeVocabularyLoss(const VocabularyInputs&, bool) { TORCH_CHECK(false, kNone); }
void AdamStep(const AdamOptions&, const std::vector<AdamItem>&, const at::Tensor&, at::Tensor&) {
  TORCH_CHECK(false, kNone);
}

}  // namespace inlier::layer::gpu
