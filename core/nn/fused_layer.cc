#include "core/nn/fused_layer.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

#include "core/layer_cpu/layer.h"
#include "core/layer_cuda/layer.h"

namespace inlier {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Everything of one call: held by the graph until its backward pass.
struct HeldCall : torch::CustomClassHolder {
  explicit HeldCall(layer::Call call) : call(std::move(call)) {}
  layer::Call call;
};

// visit(tensor) for every tensor that may have a gradient, in one order for inputs and for gradients.
template <typename Inputs, typename Weights, typename Visit>
void VisitDifferentiable(Inputs& inputs, Weights& weights, const Visit& visit) {
  visit(inputs.x);
  visit(inputs.attention_input);
  visit(inputs.gate);
  layer::VisitWeights(weights, visit);
}

layer::Result Forward(layer::Call& call) {
  return layer::gpu::Holds(call.inputs.x) ? layer::gpu::LayerForward(call) : layer::cpu::LayerForward(call);
}

// `gradients`: as the results of FusedLayerFunction.
layer::Gradients Backward(const layer::Call& call, const variable_list& gradients) {
  if (layer::gpu::Holds(call.inputs.x)) return layer::gpu::LayerBackward(call, gradients[0]);
  return layer::cpu::LayerBackward(call, gradients[0],
                                   call.shape.ffn_penalty ? gradients[1].item<double>() : 0);
}

class FusedLayerFunction : public torch::autograd::Function<FusedLayerFunction> {
 public:
  // `differentiable` are the defined tensors of the call, as VisitDifferentiable gives them. Results: y and, where there
  // is one, the penalty.
  static variable_list forward(AutogradContext* context, at::TensorList differentiable,
                               const c10::intrusive_ptr<HeldCall>& held) {
    context->saved_data["call"] = c10::IValue::make_capsule(held);
    const layer::Result result = Forward(held->call);
    if (!held->call.shape.ffn_penalty) return {result.y};
    return {result.y, result.ffn_penalty};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto held = c10::static_intrusive_pointer_cast<HeldCall>(context->saved_data["call"].toCapsule());
    layer::Call& call = held->call;
    layer::Gradients found = Backward(call, gradients);
    call.saved = {};
    std::vector<bool> defined;
    VisitDifferentiable(call.inputs, call.weights,
                        [&](const at::Tensor& tensor) { defined.push_back(tensor.defined()); });
    variable_list result;
    std::size_t next = 0;
    VisitDifferentiable(found, found.weights, [&](const at::Tensor& gradient) {
      if (defined[next++]) result.push_back(gradient);
    });
    result.emplace_back();  // Of `held`.
    return result;
  }
};

}  // namespace

layer::Result FusedLayer(layer::Call call) {
  if (!c10::GradMode::is_enabled()) return Forward(call);
  const bool penalty = call.shape.ffn_penalty.has_value();
  variable_list differentiable;
  VisitDifferentiable(call.inputs, call.weights, [&](const at::Tensor& tensor) {
    if (tensor.defined()) differentiable.push_back(tensor);
  });
  const variable_list results = FusedLayerFunction::apply(at::TensorList(differentiable),
                                                          c10::make_intrusive<HeldCall>(std::move(call)));
  return {results[0], penalty ? results[1] : at::Tensor()};
}

}  // namespace inlier
