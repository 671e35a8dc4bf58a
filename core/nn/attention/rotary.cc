#include "core/nn/attention/rotary.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace inlier {
namespace {

using Kind = RotaryScaling::Kind;

double BaseOf(const RotaryOptions& rotary, std::int64_t tokens) {
  const RotaryScaling& scaling = rotary.scaling;
  if (scaling.kind != Kind::kDynamic || tokens <= scaling.original_positions) return rotary.theta;
  const double size = static_cast<double>(rotary.size);
  const double ratio = static_cast<double>(tokens) / static_cast<double>(scaling.original_positions);
  return rotary.theta * std::pow(scaling.factor * ratio - (scaling.factor - 1), size / (size - 2));
}

// The share of each pair that is divided by the factor: 0 none, 1 all of it.
at::Tensor DividedShare(const RotaryOptions& rotary, const at::Tensor& frequencies) {
  const RotaryScaling& scaling = rotary.scaling;
  const double original = static_cast<double>(scaling.original_positions);
  if (scaling.kind == Kind::kLlama3) {
    const at::Tensor turns = frequencies.mul(original / (2 * std::numbers::pi));
    return at::rsub(turns.sub(scaling.low).div(scaling.high - scaling.low).clamp(0, 1), 1);
  }
  const double size = static_cast<double>(rotary.size);
  const auto pair_that_turns = [&](double times) {
    return size * std::log(original / (times * 2 * std::numbers::pi)) / (2 * std::log(rotary.theta));
  };
  double begin = pair_that_turns(scaling.high), end = pair_that_turns(scaling.low);
  if (scaling.truncate) {
    begin = std::floor(begin);
    end = std::ceil(end);
  }
  begin = std::max(begin, 0.0);
  end = std::min(end, size - 1);
  if (begin == end) end += 0.001;  // As the authors' code.
  return at::arange(frequencies.size(0), frequencies.options()).sub(begin).div(end - begin).clamp(0, 1);
}

// (h / 2), in float64.
at::Tensor Frequencies(const RotaryOptions& rotary, std::int64_t tokens, const at::TensorOptions& wide) {
  const at::Tensor frequencies = at::pow(
      BaseOf(rotary, tokens), at::arange(0, rotary.size, 2, wide).div(-static_cast<double>(rotary.size)));
  switch (rotary.scaling.kind) {
    case Kind::kNone:
    case Kind::kDynamic:
      return frequencies;
    case Kind::kLinear:
      return frequencies / rotary.scaling.factor;
    case Kind::kLlama3:
    case Kind::kYarn:
      break;
  }
  return at::lerp(frequencies, frequencies / rotary.scaling.factor, DividedShare(rotary, frequencies));
}

}  // namespace

RotaryTable MakeRotaryTable(std::int64_t tokens, const RotaryOptions& rotary,
                            const at::TensorOptions& options) {
  TORCH_CHECK(rotary.size % 2 == 0, "rotary positions need an even number of features, not ", rotary.size);
  // In float64 for every type of model: the angles of late tokens are large.
  const auto wide = options.dtype(at::kDouble);
  const at::Tensor angles =
      at::arange(tokens, wide).unsqueeze(1).mul(Frequencies(rotary, tokens, wide)).unsqueeze(1);
  const double amplitude = rotary.scaling.amplitude;
  return {angles.cos().mul(amplitude).to(options.dtype()), angles.sin().mul(amplitude).to(options.dtype())};
}

at::Tensor Rotate(const at::Tensor& x, const RotaryTable& table) {
  if (!table.cosine.defined()) return x;
  const std::int64_t size = 2 * table.cosine.size(-1), rest = x.size(-1) - size;
  const std::vector<at::Tensor> halves = x.narrow(-1, 0, size).chunk(2, -1);
  const at::Tensor &u1 = halves[0], &u2 = halves[1];
  std::vector<at::Tensor> parts = {u1 * table.cosine - u2 * table.sine, u2 * table.cosine + u1 * table.sine};
  if (rest > 0) parts.push_back(x.narrow(-1, size, rest));
  return at::cat(parts, -1).to(x.scalar_type());
}

}  // namespace inlier
