#include "core/nn/vocabulary_loss.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <optional>
#include <utility>

#include "core/layer_cpu/layer.h"
#include "core/layer_cuda/layer.h"

namespace inlier {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

layer::VocabularyResult Compute(const layer::VocabularyInputs& inputs, layer::Products products,
                                bool gradients) {
  return layer::gpu::Holds(inputs.hidden) ? layer::gpu::ComputeVocabularyLoss(inputs, gradients)
                                          : layer::cpu::ComputeVocabularyLoss(inputs, products, gradients);
}

// The gradients, computed with the loss, until the backward pass hands them on.
struct KeptGradients : torch::CustomClassHolder {
  layer::VocabularyResult loss;
};

void Multiply(const layer::VocabularyResult& loss, const at::Tensor& factor) {
  for (const at::Tensor& gradient : {loss.hidden_gradient, loss.weight_gradient, loss.bias_gradient}) {
    if (gradient.defined()) gradient.mul_(factor);
  }
}

class VocabularyLossFunction : public torch::autograd::Function<VocabularyLossFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& targets,
                            double label_smoothing, layer::Products products) {
    const auto kept = c10::make_intrusive<KeptGradients>();
    kept->loss = Compute({.hidden = hidden,
                          .weight = weight,
                          .bias = bias.value_or(at::Tensor()),
                          .targets = targets,
                          .label_smoothing = label_smoothing},
                         products, /*gradients=*/true);
    context->saved_data["kept"] = c10::IValue::make_capsule(kept);
    return std::exchange(kept->loss.loss, {});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto kept =
        c10::static_intrusive_pointer_cast<KeptGradients>(context->saved_data["kept"].toCapsule());
    // Handed over, not shared: the parameter takes its gradient without a copy.
    layer::VocabularyResult loss = std::exchange(kept->loss, {});
    TORCH_CHECK(loss.hidden_gradient.defined(), "the backward pass of a vocabulary loss runs once");
    if (loss.gradient_factor.defined()) {
      Multiply(loss, gradients[0] * loss.gradient_factor);
    } else if (gradients[0].item<double>() != 1) {
      Multiply(loss, gradients[0]);
    }
    return {std::move(loss.hidden_gradient),
            std::move(loss.weight_gradient),
            std::move(loss.bias_gradient),
            {},
            {},
            {}};
  }
};

bool Differentiable(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

}  // namespace

at::Tensor VocabularyLoss(const layer::VocabularyInputs& inputs, layer::Products products) {
  if (!c10::GradMode::is_enabled() ||
      !(Differentiable(inputs.hidden) || Differentiable(inputs.weight) || Differentiable(inputs.bias))) {
    return Compute(inputs, products, /*gradients=*/false).loss;
  }
  const std::optional<at::Tensor> bias = inputs.bias.defined() ? std::optional(inputs.bias) : std::nullopt;
  return VocabularyLossFunction::apply(inputs.hidden, inputs.weight, bias, inputs.targets,
                                       inputs.label_smoothing, products);
}

}  // namespace inlier
