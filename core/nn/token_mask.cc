#include "core/nn/token_mask.h"

#include <ATen/Functions.h>

#include <vector>

namespace inlier {
namespace {

bool HasTokenAxes(const TokenMask& mask, const at::Tensor& x) {
  return x.dim() >= 3 && x.size(0) == mask.padding.size(0) && x.size(1) == mask.padding.size(1);
}

// The axes of x that hold its tokens: (B, T) or (B * T).
std::int64_t TokenAxes(const TokenMask& mask, const at::Tensor& x) {
  TORCH_CHECK(IsOfTokens(mask, x), "a tensor of shape ", x.sizes(),
              " is not one of the tokens of a batch of shape ", mask.padding.sizes());
  return HasTokenAxes(mask, x) ? 2 : 1;
}

}  // namespace

bool IsOfTokens(const TokenMask& mask, const at::Tensor& x) {
  return HasTokenAxes(mask, x) || (x.dim() >= 2 && x.size(0) == mask.padding.numel());
}

TokenMask MakeTokenMask(const at::Tensor& attention_mask) {
  if (!attention_mask.defined()) return {};
  const at::Tensor real = attention_mask.ne(0);
  if (real.is_cpu() && real.all().item<bool>()) return {};
  TokenMask mask;
  mask.padding = real.logical_not();
  mask.first = real.to(at::kInt).argmax(1);
  const at::Tensor positions = at::arange(real.size(1), mask.first.options());
  const at::Tensor is_first = positions.eq(mask.first.unsqueeze(1));
  mask.not_first = mask.padding.logical_or(is_first.logical_not());
  mask.not_later = mask.padding.logical_or(is_first);
  return mask;
}

at::Tensor PaddingOf(const TokenMask& mask, const at::Tensor& x) {
  if (!mask.padding.defined()) return {};
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  const std::int64_t axes = TokenAxes(mask, x);
  for (std::int64_t axis = 0; axis < axes; ++axis) shape[axis] = x.size(axis);
  return mask.padding.reshape(shape);
}

at::Tensor WithoutPadding(const TokenMask& mask, const at::Tensor& x) {
  if (!mask.padding.defined()) return x;
  TokenAxes(mask, x);
  const at::Tensor by_sequence = x.reshape({mask.padding.size(0), mask.padding.size(1), x.size(-1)});
  const at::Tensor firsts = by_sequence.gather(
      1, mask.first.view({-1, 1, 1}).expand({by_sequence.size(0), 1, by_sequence.size(2)}));
  return at::where(mask.padding.unsqueeze(-1), firsts, by_sequence).view(x.sizes());
}

}  // namespace inlier
