#include "core/nn/attention/qkv_projection.h"

#include <ATen/Functions.h>

namespace inlier {

QkvProjection::QkvProjection(const ParameterScope& scope, const QkvNames& names, std::int64_t hidden_size,
                             std::int64_t query_width, std::int64_t kv_width, const LinearOptions& options) {
  widths_ = {query_width, kv_width, kv_width};
  if (names.key == nullptr) {
    linears_.push_back(
        Linear::Create(scope.Child(names.query), hidden_size, query_width + 2 * kv_width, options));
    return;
  }
  const char* const each[] = {names.query, names.key, names.value};
  for (std::size_t i = 0; i < 3; ++i) {
    linears_.push_back(Linear::Create(scope.Child(each[i]), hidden_size, widths_[i], options));
  }
}

Qkv QkvProjection::Split(const at::Tensor& joined) const {
  const std::vector<at::Tensor> parts = joined.split_with_sizes(widths_, -1);
  return {parts[0], parts[1], parts[2]};
}

Qkv QkvProjection::operator()(const at::Tensor& x, const ForwardContext& context) const {
  if (linears_.size() == 1) return Split(linears_[0](x, context));
  if (context.tap != nullptr || context.linears != nullptr) {
    return {linears_[0](x, context), linears_[1](x, context), linears_[2](x, context)};
  }
  // One product for all three; joining the weights costs little in comparison.
  const at::Tensor weight = at::cat({linears_[0].OutIn(), linears_[1].OutIn(), linears_[2].OutIn()});
  at::Tensor bias;
  if (linears_[0].bias.defined()) bias = at::cat({linears_[0].bias, linears_[1].bias, linears_[2].bias});
  return Split(at::linear(x, weight, bias));
}

}  // namespace inlier
