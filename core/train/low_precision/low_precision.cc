#include "core/train/low_precision/low_precision.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/random_stream.h"
#include "core/models/sites.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/optim/weight_axes.h"

namespace inlier {
namespace {

std::optional<OperandRounding> PartIf(bool given, const v1::LowPrecisionPartSpec& part) {
  return given ? std::optional(RoundingOf(part)) : std::nullopt;
}

std::string WeightScale(const std::string& name) { return name + ".weight.log_scale"; }
std::string InputScale(const std::string& name) { return name + ".input.log_scale"; }

}  // namespace

LowPrecision::LowPrecision(const v1::LowPrecisionSpec& spec, const Model& model)
    : rounding_{.weights = PartIf(spec.has_weights(), spec.weights()),
                .inputs = PartIf(spec.has_activations(), spec.activations()),
                .gradients = PartIf(spec.has_gradients(), spec.gradients())},
      hadamard_size_(spec.hadamard_size()),
      learns_scales_(spec.learned_scales()),
      first_layer_(spec.float_first_layers()) {
  std::vector<NamedParameter> parameters;
  for (const auto& item : model.named_parameters()) {
    parameters.emplace_back(item.key(), item.value());
    end_layer_ = std::max(end_layer_, LayerOf(item.key()).value_or(-1) + 1);
  }
  end_layer_ -= spec.float_last_layers();
  if (learns_scales_) AddScales(parameters);
}

bool LowPrecision::IsRounded(const std::string& name) const {
  const std::optional<std::int64_t> layer = LayerOf(name);
  return layer && *layer >= first_layer_ && *layer < end_layer_;
}

void LowPrecision::AddScales(const std::vector<NamedParameter>& parameters) {
  for (const auto& [parameter, weight] : parameters) {
    const std::string name(absl::StripSuffix(parameter, ".weight"));
    if (name == parameter || weight.dim() != 2 || !AxesOf(parameter).hidden || !IsRounded(name)) continue;
    if (rounding_.weights) scales_.Add(WeightScale(name), rounding_.weights->part.bits, weight);
    if (rounding_.inputs) scales_.AddUnseen(InputScale(name), weight);
  }
}

at::Tensor LowPrecision::WithLearnedScales(const std::string& name, const at::Tensor& x,
                                           const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor input =
      rounding_.inputs ? scales_.Round(InputScale(name), x, rounding_.inputs->part.bits, x.size(-1)) : x;
  const at::Tensor used = rounding_.weights ? scales_.Round(WeightScale(name), weight,
                                                            rounding_.weights->part.bits, weight.numel())
                                            : weight;
  return at::linear(input, used, bias);
}

at::Tensor LowPrecision::Product(const std::string& name, const at::Tensor& x, const at::Tensor& weight,
                                 const at::Tensor& bias) {
  if (!IsRounded(name)) return at::linear(x, weight, bias);
  if (learns_scales_) return WithLearnedScales(name, x, weight, bias);
  LinearRounding rounding = rounding_;
  rounding.stream = absl::StrCat("low_precision/", name);
  rounding.seed = seed_;
  if (hadamard_size_ > 0) {
    RandomStream signs(seed_, absl::StrCat(rounding.stream, "/signs"));
    rounding.rotation = HadamardMatrix(hadamard_size_, signs);
  }
  return RoundedLinear(x, weight, bias, rounding);
}

std::unique_ptr<LowPrecision> MakeLowPrecision(const v1::TrainingSpec& training, const Model& model) {
  if (!training.has_low_precision()) return nullptr;
  return std::make_unique<LowPrecision>(training.low_precision(), model);
}

}  // namespace inlier
