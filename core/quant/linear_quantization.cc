#include "core/quant/linear_quantization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/maximum.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "core/models/sites.h"

namespace inlier {
namespace {

using Options = LinearQuantizationOptions;

// The linear of a ViT that predicts the class.
constexpr std::string_view kClassifierSite = "classifier";

bool IsHead(std::string_view site) { return site == kTiedHeadSite || site == kClassifierSite; }

// The patch projection of a ViT is a linear too.
bool IsEmbedding(std::string_view site) { return site.find("embeddings.") != std::string_view::npos; }

ScaleScope ScopeOf(v1::ScaleAxis axis) {
  switch (axis) {
    case v1::TENSOR:
      return ScaleScope::kTensor;
    case v1::TOKEN:
      return ScaleScope::kRow;
    case v1::FEATURE:
      return ScaleScope::kColumn;
  }
  INLIER_CHECK(false && "an axis that the spec does not have");
}

// The axes that one scale covers; none for all of them.
std::vector<std::int64_t> CoveredAxes(const at::Tensor& x, ScaleScope scope) {
  if (scope == ScaleScope::kTensor) return {};
  if (scope == ScaleScope::kRow) return {-1};
  INLIER_CHECK(x.dim() >= 2);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis + 1 < x.dim(); ++axis) axes.push_back(axis);
  return axes;
}

std::vector<double> FlatDoubles(const at::Tensor& x) {
  const at::Tensor values = x.to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.const_data_ptr<double>();
  return std::vector<double>(data, data + values.numel());
}

absl::StatusOr<Options> AbsmaxOptions(const v1::QuantizationSpec& spec, int weight_bits,
                                      int activation_bits) {
  using Scheme = v1::AbsmaxSchemeSpec;
  const Scheme& absmax = spec.absmax();
  const bool fine = absmax.granularity() == Scheme::FINE;
  if (fine && absmax.calibrated()) {
    return absl::InvalidArgumentError(
        "quantization.absmax.calibrated: true is not for FINE, whose scales follow each token or feature");
  }
  if (!fine && spec.weights().has_group_size()) {
    return absl::InvalidArgumentError(
        "quantization.weights.group_size: has one scale a group, and MODERATE and COARSE have one a tensor");
  }
  Options options = {.grid = Options::Grid::kAbsmax,
                     .weights = std::nullopt,
                     .inputs = std::nullopt,
                     .outputs = std::nullopt,
                     .calibrated = absmax.calibrated() && spec.has_activations(),
                     .head = absmax.head()};
  if (spec.has_weights())
    options.weights = {weight_bits, fine ? ScaleScope::kRow : ScaleScope::kTensor,
                       spec.weights().group_size()};
  if (spec.has_activations()) {
    options.inputs = {activation_bits, fine ? ScopeOf(absmax.activation_axis()) : ScaleScope::kTensor};
    if (absmax.granularity() == Scheme::COARSE) options.outputs = {activation_bits, ScaleScope::kTensor};
  }
  return options;
}

Options ZeropointOptions(const v1::QuantizationSpec& spec, int weight_bits, int activation_bits) {
  const v1::ZeropointSchemeSpec& zeropoint = spec.zeropoint();
  Options options = {.grid = Options::Grid::kZeropoint,
                     .weights = std::nullopt,
                     .inputs = std::nullopt,
                     .outputs = std::nullopt,
                     .calibrated = false,
                     .head = zeropoint.head()};
  if (spec.has_weights()) options.weights = {weight_bits, ScaleScope::kRow, spec.weights().group_size()};
  if (spec.has_activations()) options.inputs = {activation_bits, ScopeOf(zeropoint.activation_axis())};
  return options;
}

}  // namespace

absl::StatusOr<Options> LinearQuantizationOptionsFromSpec(const v1::QuantizationSpec& spec) {
  INLIER_CHECK(spec.has_absmax() || spec.has_zeropoint());
  if (spec.has_weights()) RETURN_IF_ERROR(CheckBits("weights", spec.weights().bits()));
  if (spec.has_activations()) RETURN_IF_ERROR(CheckBits("activations", spec.activations().bits()));
  const int weight_bits = static_cast<int>(spec.weights().bits());
  const int activation_bits = static_cast<int>(spec.activations().bits());
  if (spec.has_absmax()) return AbsmaxOptions(spec, weight_bits, activation_bits);
  return ZeropointOptions(spec, weight_bits, activation_bits);
}

absl::StatusOr<std::unique_ptr<LinearQuantization>> LinearQuantization::Create(
    const v1::QuantizationSpec& spec) {
  ASSIGN_OR_RETURN(const Options options, LinearQuantizationOptionsFromSpec(spec));
  return std::make_unique<LinearQuantization>(options);
}

LinearQuantization::LinearQuantization(const Options& options)
    : options_(options), observes_(options.calibrated) {
  for (const std::optional<Options::Part>& part : {options.inputs, options.outputs}) {
    INLIER_CHECK(!part || !options.calibrated ||
                 (options.grid == Options::Grid::kAbsmax && part->scope == ScaleScope::kTensor));
  }
}

LinearQuantization::~LinearQuantization() = default;

bool LinearQuantization::IsRounded(const std::string& site) const {
  return !IsEmbedding(site) && (options_.head || !IsHead(site));
}

LinearQuantization::Entry& LinearQuantization::Find(EntryMap& entries, const std::string& site,
                                                    const at::Tensor& x, int bits) {
  const auto [found, is_new] = entries.try_emplace(site);
  if (is_new) {
    found->second.order = next_order_++;
    found->second.bits = bits;
    found->second.shape = x.sizes().vec();
  }
  return found->second;
}

SliceGrid LinearQuantization::GridOf(const at::Tensor& x, const Options::Part& part) const {
  if (part.group_size > 0) {
    return options_.grid == Options::Grid::kAbsmax ? AbsmaxGroupGrid(x, part.bits, part.group_size)
                                                   : ZeropointGroupGrid(x, part.bits, part.group_size);
  }
  const std::vector<std::int64_t> axes = CoveredAxes(x, part.scope);
  return options_.grid == Options::Grid::kAbsmax ? AbsmaxGrid(x, part.bits, axes)
                                                 : ZeropointGrid(x, part.bits, axes);
}

at::Tensor LinearQuantization::RoundActivation(EntryMap& entries, const std::string& site,
                                               const at::Tensor& x,
                                               const std::optional<Options::Part>& part) {
  if (!part || !IsRounded(site) || x.numel() == 0) return x;
  const c10::NoGradGuard no_grad;
  Entry& entry = Find(entries, site, x, part->bits);
  // A token's own scale is that of no other.
  const at::Tensor text = part->scope == ScaleScope::kRow ? x : WithoutPadding(mask_, x);
  if (observes_) {
    const at::Tensor largest = text.abs().amax();
    entry.largest = entry.largest.defined() ? at::maximum(entry.largest, largest) : largest;
    return x;
  }
  if (options_.calibrated) {
    INLIER_CHECK(entry.grid.scale.defined());  // Else no calibration batch has reached it.
  } else {
    entry.grid = GridOf(text, *part);
  }
  return RoundToGrid(x, entry.grid);
}

at::Tensor LinearQuantization::OnLinearInput(const std::string& site, const at::Tensor& input) {
  return RoundActivation(inputs_, site, input, options_.inputs);
}

at::Tensor LinearQuantization::OnLinearOutput(const std::string& site, const at::Tensor& output) {
  return RoundActivation(outputs_, site, output, options_.outputs);
}

at::Tensor LinearQuantization::OnLinearWeight(const std::string& site, const at::Tensor& weight) {
  if (!options_.weights || !IsRounded(site) || observes_) return weight;
  const c10::NoGradGuard no_grad;
  Entry& entry = Find(weights_, site, weight, options_.weights->bits);
  if (!entry.rounded.defined()) {
    const std::int64_t group_size = options_.weights->group_size;
    entry.grid = GridOf(weight, *options_.weights);
    entry.rounded = RoundToGrid(
        weight, group_size > 0 ? ExpandGroups(entry.grid, group_size, weight.size(1)) : entry.grid);
  }
  INLIER_CHECK(entry.rounded.sizes() == weight.sizes());
  return entry.rounded;
}

void LinearQuantization::Freeze() {
  if (!observes_) return;
  observes_ = false;
  for (EntryMap* entries : {&inputs_, &outputs_}) {
    for (auto& [site, entry] : *entries) entry.grid = AbsmaxGridOfLargest(entry.largest, entry.bits);
  }
}

std::optional<at::Tensor> LinearQuantization::QuantizedWeight(const std::string& site) const {
  const auto found = weights_.find(site);
  if (found == weights_.end()) return std::nullopt;
  return found->second.rounded;
}

std::vector<QuantizerReport> LinearQuantization::Table() const {
  const std::pair<const EntryMap*, QuantizedPart> parts[] = {{&weights_, QuantizedPart::kWeight},
                                                             {&inputs_, QuantizedPart::kInput},
                                                             {&outputs_, QuantizedPart::kOutput}};
  const bool symmetric = options_.grid == Options::Grid::kAbsmax;
  std::vector<QuantizerReport> table;
  for (const auto& [entries, part] : parts) {
    for (const auto& [site, entry] : *entries) {
      if (!entry.grid.scale.defined()) continue;
      QuantizationGrid grid = {.scale = FlatDoubles(entry.grid.scale),
                               .zero_point = {},
                               .integer_min = entry.grid.integer_min,
                               .integer_max = entry.grid.integer_max,
                               .is_signed = symmetric};
      grid.zero_point =
          symmetric ? std::vector<double>(grid.scale.size(), 0.0) : FlatDoubles(entry.grid.zero_point);
      table.push_back({.order = entry.order,
                       .site = site,
                       .part = part,
                       .bits = entry.bits,
                       .symmetric = symmetric,
                       .is_signed = symmetric,
                       .shape = entry.shape,
                       .range = {},
                       .grid = std::move(grid),
                       .group_size = part == QuantizedPart::kWeight && options_.weights
                                         ? options_.weights->group_size
                                         : 0});
    }
  }
  std::sort(table.begin(), table.end(),
            [](const QuantizerReport& a, const QuantizerReport& b) { return a.order < b.order; });
  return table;
}

}  // namespace inlier
