#include "core/quant/linear/linear_quantization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "core/models/sites.h"
#include "core/quant/smoothing.h"

namespace inlier {
namespace {

using Options = LinearQuantizationOptions;

// The numbers of layers for what comes before the first one and behind the last.
constexpr std::int64_t kBefore = -1, kBehind = std::numeric_limits<std::int64_t>::max();

// A ViT's predicts the class.
bool IsHead(std::string_view site) { return site == kTiedHeadSite || site == "classifier"; }

// The patch projection of a ViT is a linear too.
bool IsEmbedding(std::string_view site) { return site.find("embeddings.") != std::string_view::npos; }

}  // namespace

absl::StatusOr<std::unique_ptr<LinearQuantization>> LinearQuantization::Create(
    const v1::QuantizationSpec& spec, v1::ModelSpec::ArchitectureCase architecture) {
  ASSIGN_OR_RETURN(const Options options, LinearQuantizationOptionsFromSpec(spec));
  if (options.rotation && architecture != v1::ModelSpec::kOpt && architecture != v1::ModelSpec::kGpt2 &&
      architecture != v1::ModelSpec::kLlama) {
    return absl::InvalidArgumentError(
        "quantization.rotation: is for model.opt, model.gpt2 and model.llama: use one of them, or leave it "
        "out");
  }
  return std::make_unique<LinearQuantization>(options, architecture);
}

LinearQuantization::LinearQuantization(const Options& options, v1::ModelSpec::ArchitectureCase architecture)
    : options_(options),
      observes_(needs_calibration()),
      transform_(options, architecture),
      statistics_(options.smoothing || options.awq, needs_moments()) {
  for (const std::optional<Part>& part : {options.inputs, options.outputs}) {
    INLIER_CHECK(!part || !options.calibrated ||
                 (options.grid == Options::Grid::kAbsmax && part->scope == ScaleScope::kTensor));
  }
  INLIER_CHECK(!options.gptq || (options.weights && options.weights->scope == ScaleScope::kRow));
}

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

void LinearQuantization::OnPass(const at::Tensor& attention_mask) {
  mask_ = MakeTokenMask(attention_mask);
  in_layers_ = false;
  if (observes_) statistics_.OnPass(attention_mask);
}

at::Tensor LinearQuantization::OnWeight(const std::string& site, const at::Tensor& weight) {
  transform_.SeeGain(site, weight);
  return weight;
}

// A token's own scale is that of no other, unless one of the tensor is in it.
at::Tensor LinearQuantization::TextOf(const at::Tensor& x, const Part& part) const {
  return part.scope == ScaleScope::kRow && part.format != v1::NVFP4 ? x : WithoutPadding(mask_, x);
}

void LinearQuantization::SeeLargest(EntryMap& entries, const std::string& site, const at::Tensor& x,
                                    const Part& part) {
  Entry& entry = Find(entries, site, x, part.bits);
  if (!options_.calibrated) return;
  at::Tensor largest = TextOf(x, part);
  largest = (&entries == &outputs_ ? transform_.Output(site, largest) : transform_.Input(site, largest))
                .abs()
                .amax();
  entry.largest = entry.largest.defined() ? at::maximum(entry.largest, largest) : largest;
}

at::Tensor LinearQuantization::RoundForGradient(const at::Tensor& exact, const at::Tensor& seen,
                                                const Part& part) const {
  const PartGrid grid = GridOfPart(seen.detach(), part, options_.grid);
  return StraightThrough(exact, RoundToPart(exact.detach(), grid));
}

at::Tensor LinearQuantization::WeightForGradient(const std::string& site, const at::Tensor& weight) {
  const at::Tensor exact = transform_.Weight(site, weight.detach());
  const bool stays_float = !options_.weights || (options_.gptq && options_.inputs);
  return transform_.UsedWeight(site, stays_float ? exact : RoundForGradient(exact, exact, *options_.weights));
}

absl::Status LinearQuantization::Learn(const LossOfUpdate& loss_of) {
  const bool observes = std::exchange(observes_, false);
  learns_ = true;
  const absl::Status done = transform_.Learn(loss_of);
  learns_ = false;
  observes_ = observes;
  return done;
}

at::Tensor LinearQuantization::RoundActivation(EntryMap& entries, const std::string& site,
                                               const at::Tensor& x, const Part& part) {
  if (learns_) return RoundForGradient(x, TextOf(x, part), part);
  Entry& entry = Find(entries, site, x, part.bits);
  if (options_.calibrated) {
    INLIER_CHECK(entry.grid.defined());  // Else no calibration batch has reached it.
  } else {
    entry.grid = GridOfPart(TextOf(x, part), part, options_.grid);
  }
  return RoundToPart(x, entry.grid);
}

at::Tensor LinearQuantization::OnLinearInput(const std::string& site, const at::Tensor& input) {
  if (!IsRounded(site) || input.numel() == 0) return input;
  const c10::AutoGradMode gradients(learns_);
  if (observes_) {
    if (options_.inputs) SeeLargest(inputs_, site, input, *options_.inputs);
    const Turn turn = TurnOf(site);
    if (turn == Turn::kRounded) return transform_.Input(site, input);
    if (turn == Turn::kLater) return input;
    statistics_.SeeInput(transform_.Reads(site), site, transform_.WithoutOffset(site, input));
    return input;
  }
  const at::Tensor exact = transform_.Input(site, input);
  return options_.inputs ? RoundActivation(inputs_, site, exact, *options_.inputs) : exact;
}

at::Tensor LinearQuantization::OnLinearOutput(const std::string& site, const at::Tensor& output) {
  if (!IsRounded(site) || output.numel() == 0) return output;
  const c10::AutoGradMode gradients(learns_);
  if (observes_) {
    if (options_.outputs) SeeLargest(outputs_, site, output, *options_.outputs);
    return TurnOf(site) == Turn::kRounded ? transform_.Shifted(site, output) : output;
  }
  const at::Tensor whole = transform_.Shifted(site, output);
  if (!options_.outputs) return whole;
  const at::Tensor exact = transform_.Output(site, whole);
  return transform_.UsedOutput(site, RoundActivation(outputs_, site, exact, *options_.outputs));
}

at::Tensor LinearQuantization::MomentsOf(const std::string& site) {
  const at::Tensor& moments = statistics_.At(transform_.Reads(site)).moments.matrix();
  INLIER_CHECK(moments.defined());
  return transform_.InputMoments(site, moments);
}

at::Tensor LinearQuantization::Narrowed(const std::string& site, const at::Tensor& exact) {
  if (!options_.awq || !options_.awq->clip || MakesQueriesOrKeys(site)) return exact;
  const std::int64_t group = GridOfPart(exact, *options_.weights, options_.grid).group_size;
  return AwqClipped(exact, MomentsOf(site), group > 0 ? group : exact.size(1), options_.awq->grid,
                    [this](const at::Tensor& weight) { return ToNearest(weight); });
}

absl::StatusOr<at::Tensor> LinearQuantization::Corrected(const std::string& site, const at::Tensor& exact,
                                                         Entry& entry) {
  PartGrid grid = WithoutGroups(entry.grid, exact.size(1));
  std::int64_t first = 0;  // The channel of the grid's first column.
  GptqGroups groups;
  std::vector<at::Tensor> scales, zero_points;
  if (options_.dynamic_groups) {
    groups.size = entry.grid.group_size;
    groups.begin = [&](const at::Tensor& weights, std::int64_t channel) {
      const PartGrid of_group = GridOfPart(weights.to(exact.scalar_type()), *options_.weights, options_.grid);
      scales.push_back(of_group.slices.scale);
      if (of_group.slices.zero_point.defined()) zero_points.push_back(of_group.slices.zero_point);
      grid = WithoutGroups(of_group, weights.size(1));
      first = channel;
    };
  }
  ASSIGN_OR_RETURN(at::Tensor rounded, GptqRound(
                                           exact, MomentsOf(site), *options_.gptq,
                                           [&](const at::Tensor& column, std::int64_t index) {
                                             return RoundToPart(column, ColumnOf(grid, index - first));
                                           },
                                           groups));
  if (!scales.empty()) entry.grid.slices.scale = at::cat(scales, 1);
  if (!zero_points.empty()) entry.grid.slices.zero_point = at::cat(zero_points, 1);
  return rounded;
}

absl::Status LinearQuantization::RoundWeight(const std::string& site, const at::Tensor& exact, Entry& entry) {
  if (!options_.weights) {
    entry.used = transform_.UsedWeight(site, exact);
    return absl::OkStatus();
  }
  const at::Tensor narrowed = Narrowed(site, exact);
  entry.grid = GridOfPart(narrowed, *options_.weights, options_.grid);
  if (options_.gptq) {
    ASSIGN_OR_RETURN(entry.rounded, Corrected(site, exact, entry));
  } else {
    entry.rounded = RoundToPart(narrowed, entry.grid);
  }
  entry.used = transform_.UsedWeight(site, entry.rounded);
  return absl::OkStatus();
}

at::Tensor LinearQuantization::OnLinearWeight(const std::string& site, const at::Tensor& weight) {
  if (!IsRounded(site)) return weight;
  if (learns_) return WeightForGradient(site, weight);
  const c10::NoGradGuard no_grad;
  if (observes_) {
    if (options_.weights) Find(weights_, site, weight, options_.weights->bits);
    const Turn turn = TurnOf(site);
    if (turn == Turn::kRounded) return weights_.at(site).used;
    if (turn == Turn::kNow) statistics_.SeeWeight(transform_.Reads(site), site, weight);
    return weight;
  }
  Entry& entry = options_.weights ? Find(weights_, site, weight, options_.weights->bits) : weights_[site];
  if (!entry.used.defined()) {
    INLIER_CHECK(!needs_moments());  // Else no calibration batch has reached it.
    INLIER_CHECK(RoundWeight(site, transform_.Weight(site, weight), entry).ok());
  }
  INLIER_CHECK(entry.used.sizes() == weight.sizes());
  return entry.used;
}

absl::Status LinearQuantization::SetFactors() {
  for (const auto& [reads, input] : statistics_.inputs()) {
    if (!transform_.IsScaled(input.first_site)) continue;
    std::vector<at::Tensor> weights;
    for (const auto& [site, weight] : input.weights) weights.push_back(weight);
    at::Tensor factors;
    if (options_.smoothing) {
      factors = SmoothingFactors(input.maxima, weights, *options_.smoothing);
    } else {
      const absl::StatusOr<at::Tensor> found =
          AwqFactors(input.moments, weights, options_.awq->grid,
                     [this](const at::Tensor& weight) { return ToNearest(weight); });
      if (!found.ok()) return Annotate(found.status(), "at " + input.first_site);
      factors = *found;
    }
    transform_.SetFactors(reads, factors);
    const at::Tensor largest = input.maxima.div(factors).amax();
    for (const auto& [site, weight] : input.weights) {
      if (const auto entry = inputs_.find(site); entry != inputs_.end()) entry->second.largest = largest;
    }
  }
  return absl::OkStatus();
}

LinearQuantization::Turn LinearQuantization::TurnOf(const std::string& site) {
  if (!options_.layer_by_layer) return Turn::kNow;
  const std::optional<std::int64_t> number = LayerOf(site);
  in_layers_ = in_layers_ || number.has_value();
  const std::int64_t layer = number.value_or(in_layers_ ? kBehind : kBefore);
  if (rounded_layers_.contains(layer)) return Turn::kRounded;
  if (!layer_) layer_ = layer;
  if (layer == *layer_) return Turn::kNow;
  others_left_ = true;
  return Turn::kLater;
}

absl::StatusOr<bool> LinearQuantization::EndRun() {
  if (!options_.layer_by_layer) return false;
  const c10::NoGradGuard no_grad;
  RETURN_IF_ERROR(RoundObserved());
  if (layer_) rounded_layers_.insert(*std::exchange(layer_, std::nullopt));
  return std::exchange(others_left_, false);
}

absl::Status LinearQuantization::RoundObserved() {
  for (const auto& [reads, input] : statistics_.inputs()) {
    for (const auto& [site, weight] : input.weights) {
      const absl::Status done = RoundWeight(site, transform_.Weight(site, weight), weights_.at(site));
      if (!done.ok()) return Annotate(done, "at " + site);
    }
  }
  statistics_.Clear();
  return absl::OkStatus();
}

absl::Status LinearQuantization::Freeze() {
  if (!observes_) return absl::OkStatus();
  observes_ = false;
  const c10::NoGradGuard no_grad;
  if (options_.smoothing || options_.awq) RETURN_IF_ERROR(SetFactors());
  if (options_.calibrated) {
    for (auto& [site, entry] : inputs_) entry.grid = GridOfLargest(entry.largest, *options_.inputs);
    for (auto& [site, entry] : outputs_) entry.grid = GridOfLargest(entry.largest, *options_.outputs);
  }
  if (needs_moments()) RETURN_IF_ERROR(RoundObserved());
  statistics_.Clear();
  return absl::OkStatus();
}

std::optional<Rounding> LinearQuantization::RoundingOf(const std::string& site, QuantizedPart part,
                                                       const at::Tensor& tensor, const at::Tensor& used) {
  if (used.is_same(tensor)) return std::nullopt;
  const c10::NoGradGuard no_grad;
  if (part == QuantizedPart::kInput) {
    if (!options_.inputs) return std::nullopt;
    const at::Tensor exact = transform_.Input(site, tensor);
    return Rounding{exact, used, exact};
  }
  if (part == QuantizedPart::kOutput) {
    if (!options_.outputs) return std::nullopt;
    const at::Tensor whole = transform_.Shifted(site, tensor);
    return Rounding{transform_.Output(site, whole), transform_.Output(site, used), whole};
  }
  if (!options_.weights) return std::nullopt;
  const at::Tensor exact = transform_.Weight(site, tensor);
  return Rounding{exact, weights_.at(site).rounded, transform_.UsedWeight(site, exact)};
}

std::optional<at::Tensor> LinearQuantization::QuantizedWeight(const std::string& site) const {
  const auto found = weights_.find(site);
  if (!options_.weights || found == weights_.end() || !found->second.used.defined()) return std::nullopt;
  return found->second.used;
}

std::vector<QuantizerReport> LinearQuantization::Table() const {
  const std::pair<const EntryMap*, QuantizedPart> parts[] = {{&weights_, QuantizedPart::kWeight},
                                                             {&inputs_, QuantizedPart::kInput},
                                                             {&outputs_, QuantizedPart::kOutput}};
  const bool symmetric = options_.grid == Options::Grid::kAbsmax;
  std::vector<QuantizerReport> table;
  for (const auto& [entries, part] : parts) {
    for (const auto& [site, entry] : *entries) {
      if (!entry.grid.defined()) continue;
      table.push_back({.order = entry.order,
                       .site = site,
                       .part = part,
                       .bits = entry.bits,
                       .symmetric = symmetric,
                       .is_signed = symmetric,
                       .shape = entry.shape,
                       .grid = ReportedGrid(entry.grid.slices),
                       .group_size = entry.grid.group_size});
    }
  }
  std::sort(table.begin(), table.end(),
            [](const QuantizerReport& a, const QuantizerReport& b) { return a.order < b.order; });
  return table;
}

}  // namespace inlier
