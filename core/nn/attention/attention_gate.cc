#include "core/nn/attention/attention_gate.h"

#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "core/nn/precision.h"

namespace inlier {

AttentionGate::AttentionGate(const ParameterScope& scope, const std::string& name, std::int64_t hidden_size,
                             std::int64_t heads, const GateOptions& options)
    : options_(options), heads_(heads), site_(scope.Name(name)) {
  const std::int64_t head_size = hidden_size / heads;
  switch (options.kind) {
    case GateOptions::Kind::kNone:
      return;
    case GateOptions::Kind::kUnconditional:
      weights_.push_back(scope.Create(name, {heads}));
      return;
    case GateOptions::Kind::kAllHeadsLinear: {
      const ParameterScope gate = scope.Child(name);
      weights_.push_back(gate.Create("weight", {heads, hidden_size}));
      biases_.push_back(gate.Create("bias", {heads}));
      return;
    }
    case GateOptions::Kind::kScript:
      options_.script = options.script->Copy();
      scope.Child(name).Adopt(*options_.script);
      return;
    case GateOptions::Kind::kLinear:
      for (std::int64_t head = 0; head < heads; ++head) {
        const ParameterScope gate = scope.Child(name + "." + std::to_string(head));
        weights_.push_back(gate.Create("weight", {1, head_size}));
        biases_.push_back(gate.Create("bias", {1}));
      }
      return;
    case GateOptions::Kind::kMlp:
      for (std::int64_t head = 0; head < heads; ++head) {
        const ParameterScope first = scope.Child(name + "." + std::to_string(head) + ".0");
        const ParameterScope second = scope.Child(name + "." + std::to_string(head) + ".2");
        weights_.push_back(first.Create("weight", {options.mlp_hidden_size, head_size}));
        biases_.push_back(first.Create("bias", {options.mlp_hidden_size}));
        output_weights_.push_back(second.Create("weight", {1, options.mlp_hidden_size}));
        output_biases_.push_back(second.Create("bias", {1}));
      }
      return;
  }
}

at::Tensor AttentionGate::Logits(const at::Tensor& x) const {
  switch (options_.kind) {
    case GateOptions::Kind::kAllHeadsLinear:
      return at::linear(x, weights_[0], biases_[0]);
    case GateOptions::Kind::kLinear:
      // The heads' rows as the blocks of one (H, d) matrix: a single small product.
      return at::linear(x, at::block_diag(weights_), at::cat(biases_));
    case GateOptions::Kind::kMlp: {
      const std::int64_t batch = x.size(0), tokens = x.size(1);
      const at::Tensor per_head = x.reshape({batch * tokens, heads_, -1}).transpose(0, 1);  // (H, B*T, h)
      const at::Tensor hidden = at::relu(
          at::baddbmm(at::stack(biases_).unsqueeze(1), per_head, at::stack(weights_).transpose(1, 2)));
      const at::Tensor logits = at::baddbmm(at::stack(output_biases_).unsqueeze(1), hidden,
                                            at::stack(output_weights_).transpose(1, 2));  // (H, B*T, 1)
      return logits.view({heads_, batch, tokens}).permute({1, 2, 0});
    }
    case GateOptions::Kind::kNone:
    case GateOptions::Kind::kScript:
    case GateOptions::Kind::kUnconditional:
      break;
  }
  TORCH_CHECK(false, "a gate of kind ", static_cast<int>(options_.kind), " has no logits of the input");
}

at::Tensor AttentionGate::Values(const at::Tensor& x) const {
  if (options_.kind == GateOptions::Kind::kUnconditional) return at::sigmoid(weights_[0]);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  if (options_.kind == GateOptions::Kind::kScript)
    return (*options_.script)({AtLeastFloat32(x).unflatten(-1, {heads_, -1})}).transpose(1, 2);
  at::Tensor logits = Logits(AtLeastFloat32(x)).transpose(1, 2).unsqueeze(-1);  // (B, H, T, 1)
  if (options_.pooled) logits = logits.mean(2, /*keepdim=*/true);
  return at::sigmoid(logits);
}

at::Tensor AttentionGate::Factors(const at::Tensor& x, const ForwardContext& forward) const {
  at::Tensor values = forward.Activation(site_, Values(x));
  if (values.dim() == 1) values = values.view({1, heads_, 1, 1});
  return options_.output_factor == 1 ? values : values * options_.output_factor;
}

at::Tensor AttentionGate::Apply(const at::Tensor& context, const at::Tensor& x,
                                const ForwardContext& forward) const {
  return options_.kind == GateOptions::Kind::kNone ? context : context * Factors(x, forward);
}

}  // namespace inlier
