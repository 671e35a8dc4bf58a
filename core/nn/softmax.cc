#include "core/nn/softmax.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/nn/precision.h"

namespace inlier {
namespace {

// One node of the autograd graph in place of five: keeps p and y, which the product with the values keeps
// anyway.
class ClippedSoftmaxFunction : public torch::autograd::Function<ClippedSoftmaxFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& scores, double gamma,
                            double zeta) {
    const at::Tensor p = at::softmax(scores, -1);
    // gamma + (zeta - gamma) * p in one pass, then the clip in place.
    at::Tensor y = at::add(at::scalar_tensor(gamma, p.options()), p, zeta - gamma);
    y.clamp_(0, 1);
    context->save_for_backward({p, y});
    context->saved_data["slope"] = zeta - gamma;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& p = saved[0];
    const at::Tensor& y = saved[1];
    // Zero where y was clipped. On the bounds themselves the choice does not matter: y = 0 and y = 1 are met
    // exactly only where p is 0 or 1, and there the gradient of the softmax vanishes.
    const at::Tensor inside = at::hardtanh_backward(gradients[0], y, 0, 1);
    at::Tensor gradient = at::_softmax_backward_data(inside, p, -1, p.scalar_type());
    gradient.mul_(context->saved_data["slope"].toDouble());
    return {gradient, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor ClippedSoftmax(const at::Tensor& scores, double gamma, double zeta) {
  return ClippedSoftmaxFunction::apply(AtLeastFloat32(scores), gamma, zeta);
}

at::Tensor AttentionProbabilities(const at::Tensor& scores, const SoftmaxOptions& options) {
  switch (options.kind) {
    case SoftmaxOptions::Kind::kVanilla:
      return at::softmax(AtLeastFloat32(scores), -1);
    case SoftmaxOptions::Kind::kClipped:
      return ClippedSoftmax(scores, options.gamma, options.zeta);
  }
  TORCH_CHECK(false, "unknown softmax ", static_cast<int>(options.kind));
}

}  // namespace inlier
