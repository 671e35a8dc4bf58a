// NullKeySoftmax (core/nn/attention/softmax.h) as one node of the autograd graph, stable for scores of any size: the
// row is shifted by the largest of its scores and the null key's.
#ifndef INLIER_CORE_NN_ATTENTION_NULL_KEY_SOFTMAX_FUNCTION_H_
#define INLIER_CORE_NN_ATTENTION_NULL_KEY_SOFTMAX_FUNCTION_H_

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

namespace inlier {

class NullKeySoftmaxFunction : public torch::autograd::Function<NullKeySoftmaxFunction> {
 public:
  // null_score: finite, broadcasts to (..., 1), of the scores' type.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& scores,
                            const at::Tensor& null_score) {
    const at::Tensor m = at::maximum(scores.amax(-1, /*keepdim=*/true), null_score);
    at::Tensor y = at::sub(scores, m).exp_();
    at::Tensor null_weight = at::sub(null_score, m).exp_();
    const at::Tensor total = y.sum(-1, /*keepdim=*/true).add_(null_weight);
    y.div_(total);
    const bool learned = null_score.requires_grad();
    if (learned) null_weight.div_(total);
    context->save_for_backward({y, learned ? null_weight : at::Tensor()});
    context->saved_data["null_shape"] = null_score.sizes().vec();
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &null_weight = saved[1];
    // dy_i/ds_j = y_i (delta_ij - y_j), as for the softmax; dy_i/dz = -y_i w with w the null key's weight.
    at::Tensor null_gradient;
    if (null_weight.defined()) {
      null_gradient = at::sum_to((gradients[0] * y).sum(-1, /*keepdim=*/true).mul_(null_weight).neg_(),
                                 context->saved_data["null_shape"].toIntVector());
    }
    return {at::_softmax_backward_data(gradients[0], y, -1, y.scalar_type()), null_gradient};
  }
};

}  // namespace inlier

#endif  // INLIER_CORE_NN_ATTENTION_NULL_KEY_SOFTMAX_FUNCTION_H_
