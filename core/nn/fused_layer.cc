#include "core/nn/fused_layer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

#include "core/layer_cuda/device.h"
#include "core/layer_cuda/layer.h"

namespace inlier {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Everything of one call: held by the graph until its backward pass.
struct LayerCall : torch::CustomClassHolder {
  fused::LayerShape shape;
  fused::LayerWeights weights;
  fused::LayerInputs inputs;
  fused::Products products;
  fused::LayerSaved saved;
};

// visit(tensor) for every tensor that may have a gradient, in one order for inputs and for gradients.
template <typename Inputs, typename Weights, typename Visit>
void VisitDifferentiable(Inputs& inputs, Weights& weights, const Visit& visit) {
  visit(inputs.x);
  visit(inputs.attention_input);
  visit(inputs.gate);
  const auto linear = [&visit](auto& item) {
    visit(item.weight);
    visit(item.bias);
  };
  for (auto& projection : weights.projections) linear(projection);
  for (auto* item : {&weights.output, &weights.ffn_gate, &weights.ffn_input, &weights.ffn_output})
    linear(*item);
  for (auto* norm : {&weights.attention_norm, &weights.ffn_norm, &weights.query_norm, &weights.key_norm}) {
    visit(norm->gain);
    visit(norm->offset);
  }
  visit(weights.sinks);
}

// run.template operator()<T>() with the type of the products' operands.
template <typename Run>
auto WithOperands(const LayerCall& call, const Run& run) {
  if (call.inputs.x.scalar_type() == at::kDouble) return run.template operator()<double>();
  if (call.products == fused::Products::kBfloat16) return run.template operator()<fused::Bf16>();
  return run.template operator()<float>();
}

fused::LayerResult Forward(LayerCall& call) {
  if (device::Holds(call.inputs.x)) {
    TORCH_CHECK(!call.shape.ffn_penalty, "a layer on a GPU has no penalty on its feed-forward network");
    return {device::LayerForward(call.shape, call.weights, call.inputs, call.saved), {}};
  }
  return WithOperands(call, [&]<typename T>() {
    return fused::LayerForward<T>(call.shape, call.weights, call.inputs, call.saved);
  });
}

// `gradients`: as the results of FusedLayerFunction.
fused::LayerGradients Backward(const LayerCall& call, const variable_list& gradients) {
  if (device::Holds(call.inputs.x))
    return device::LayerBackward(call.shape, call.weights, call.inputs, call.saved, gradients[0]);
  const double of_penalty = call.shape.ffn_penalty ? gradients[1].item<double>() : 0;
  return WithOperands(call, [&]<typename T>() {
    return fused::LayerBackward<T>(call.shape, call.weights, call.inputs, call.saved, gradients[0],
                                   of_penalty);
  });
}

class FusedLayerFunction : public torch::autograd::Function<FusedLayerFunction> {
 public:
  // `differentiable` are the defined tensors of the call, as VisitDifferentiable gives them. Results: y and, where there
  // is one, the penalty.
  static variable_list forward(AutogradContext* context, at::TensorList differentiable,
                               const c10::intrusive_ptr<LayerCall>& call) {
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    const fused::LayerResult result = Forward(*call);
    if (!call->shape.ffn_penalty) return {result.y};
    return {result.y, result.ffn_penalty};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto call = c10::static_intrusive_pointer_cast<LayerCall>(context->saved_data["call"].toCapsule());
    fused::LayerGradients found = Backward(*call, gradients);
    call->saved = {};
    found.weights.projections.resize(call->weights.projections.size());
    std::vector<bool> defined;
    VisitDifferentiable(call->inputs, call->weights,
                        [&](const at::Tensor& tensor) { defined.push_back(tensor.defined()); });
    variable_list result;
    std::size_t next = 0;
    VisitDifferentiable(found, found.weights, [&](const at::Tensor& gradient) {
      if (defined[next++]) result.push_back(gradient);
    });
    result.emplace_back();  // Of `call`.
    return result;
  }
};

}  // namespace

fused::LayerResult FusedLayer(const fused::LayerShape& shape, const fused::LayerWeights& weights,
                              const fused::LayerInputs& inputs, fused::Products products) {
  const auto call = c10::make_intrusive<LayerCall>();
  call->shape = shape;
  call->weights = weights;
  call->inputs = inputs;
  call->products = products;
  if (!c10::GradMode::is_enabled()) return Forward(*call);
  variable_list differentiable;
  VisitDifferentiable(call->inputs, call->weights, [&](const at::Tensor& tensor) {
    if (tensor.defined()) differentiable.push_back(tensor);
  });
  const variable_list results = FusedLayerFunction::apply(at::TensorList(differentiable), call);
  return {results[0], shape.ffn_penalty ? results[1] : at::Tensor()};
}

}  // namespace inlier
