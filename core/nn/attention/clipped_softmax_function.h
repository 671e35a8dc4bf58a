// ClippedSoftmax (core/nn/attention/softmax.h) as one node of the autograd graph in place of five: it keeps p and y,
// which the product with the values keeps anyway.
#ifndef INLIER_CORE_NN_ATTENTION_CLIPPED_SOFTMAX_FUNCTION_H_
#define INLIER_CORE_NN_ATTENTION_CLIPPED_SOFTMAX_FUNCTION_H_

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace inlier {

class ClippedSoftmaxFunction : public torch::autograd::Function<ClippedSoftmaxFunction> {
 public:
  // One gamma a row, or undefined: then `gamma` holds for all rows. In a struct, because autograd accepts no
  // undefined tensor as an argument; it has no gradient.
  struct RowGamma {
    at::Tensor value;
  };

  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& scores,
                            const RowGamma& row_gamma, double gamma, double zeta, bool may_have_empty_rows) {
    const at::Tensor p = may_have_empty_rows ? at::_safe_softmax(scores, -1) : at::softmax(scores, -1);
    at::Tensor y, slope;
    if (row_gamma.value.defined()) {
      slope = zeta - row_gamma.value;
      y = at::addcmul(row_gamma.value, p, slope);
    } else {
      // gamma + (zeta - gamma) * p in one pass, then the clip in place.
      y = at::add(at::scalar_tensor(gamma, p.options()), p, zeta - gamma);
      context->saved_data["slope"] = zeta - gamma;
    }
    y.clamp_(0, 1);
    context->save_for_backward({p, y, slope});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor &p = saved[0], &y = saved[1], &slope = saved[2];
    // Zero where y was clipped. On the bounds themselves the choice does not matter: y is exactly 0 or 1 only
    // where p is 0 or 1, and there the gradient of the softmax vanishes.
    const at::Tensor inside = at::hardtanh_backward(gradients[0], y, 0, 1);
    at::Tensor gradient = at::_softmax_backward_data(inside, p, -1, p.scalar_type());
    if (slope.defined()) {
      gradient.mul_(slope);
    } else {
      gradient.mul_(context->saved_data["slope"].toDouble());
    }
    return {gradient, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_CLIPPED_SOFTMAX_FUNCTION_H_
