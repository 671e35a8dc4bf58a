#include "core/train/low_precision/rounded_linear.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random_stream.h"
#include "core/nn/precision.h"

namespace inlier {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct HeldRounding : torch::CustomClassHolder {
  explicit HeldRounding(LinearRounding rounding) : rounding(std::move(rounding)) {}

  // The same bits for the same `operand`, so that the backward pass need not keep what the forward pass rounded.
  at::Tensor Round(const at::Tensor& x, const std::optional<OperandRounding>& how,
                   const char* operand) const {
    if (!how) return x;
    return RoundOperand(x, *how,
                        RandomStream(rounding.seed, absl::StrCat(rounding.stream, "/", operand)).Next());
  }
  at::Tensor Input(const at::Tensor& rows) const { return Round(rows, rounding.inputs, "input"); }
  at::Tensor Weight(const at::Tensor& weight) const { return Round(weight, rounding.weights, "weight"); }

  // dL/dx of `gradient` (N, out).
  at::Tensor OfInput(const at::Tensor& gradient, const at::Tensor& weight) const {
    const at::ScalarType type = gradient.scalar_type();  // That of the products.
    if (!rounding.gradients) return at::matmul(gradient, Weight(weight).to(type));
    const at::Tensor by_input = Round(weight.t(), rounding.weights, "weight by input");
    return at::matmul(Round(gradient, rounding.gradients, "gradient"), by_input.t().to(type));
  }

  // dL/dW of `gradient` (N, out) and `rows` (N, in).
  at::Tensor OfWeight(const at::Tensor& gradient, const at::Tensor& rows) const {
    const at::ScalarType type = gradient.scalar_type();
    const at::Tensor& rotation = rounding.rotation;
    if (!rounding.gradients && !rotation.defined()) return at::matmul(gradient.t(), Input(rows).to(type));
    const auto by_feature = [&rotation](const at::Tensor& x) {
      return (rotation.defined() ? RotateTokens(x, rotation) : x).t();
    };
    const at::Tensor left = Round(by_feature(gradient), rounding.gradients, "gradient by feature");
    const at::Tensor right = Round(by_feature(rows), rounding.inputs, "input by feature");
    return at::matmul(left.to(type), right.t().to(type));
  }

  const LinearRounding rounding;
};

at::Tensor AsRows(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

class RoundedLinearFunction : public torch::autograd::Function<RoundedLinearFunction> {
 public:
  // `operands`: x, weight and, where there is one, the bias.
  static at::Tensor forward(AutogradContext* context, at::TensorList operands,
                            const c10::intrusive_ptr<HeldRounding>& held) {
    const at::Tensor &x = operands[0], &weight = operands[1];
    context->save_for_backward({x, weight});
    context->saved_data["rounding"] = c10::IValue::make_capsule(held);
    context->saved_data["bias"] = operands.size() == 3;
    return at::linear(held->Input(AsRows(x)).reshape(x.sizes()), held->Weight(weight),
                      operands.size() == 3 ? operands[2] : at::Tensor());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto held =
        c10::static_intrusive_pointer_cast<HeldRounding>(context->saved_data["rounding"].toCapsule());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::Tensor gradient = AsRows(gradients[0]);
    variable_list result = {held->OfInput(gradient, weight).reshape(x.sizes()).to(x.scalar_type()),
                            held->OfWeight(gradient, AsRows(x)).to(weight.scalar_type())};
    if (context->saved_data["bias"].toBool()) result.push_back(AtLeastFloat32(gradient).sum(0));
    result.emplace_back();  // Of `held`.
    return result;
  }
};

}  // namespace

at::Tensor RotateTokens(const at::Tensor& x, const at::Tensor& rotation) {
  const std::int64_t size = rotation.size(0);
  TORCH_CHECK(x.size(0) % size == 0, "training.low_precision.hadamard_size: ", size, " does not divide the ",
              x.size(0),
              " tokens of a micro-batch: choose training.batch_size so that it does, or a smaller size");
  const at::Tensor values = AtLeastFloat32(x);
  return at::matmul(rotation.to(values.options()), values.reshape({-1, size, x.size(1)})).reshape(x.sizes());
}

at::Tensor RoundedLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const LinearRounding& rounding) {
  variable_list operands = {x, weight};
  if (bias.defined()) operands.push_back(bias);
  return RoundedLinearFunction::apply(at::TensorList(operands), c10::make_intrusive<HeldRounding>(rounding));
}

}  // namespace inlier
