#include "core/quant/post_training_quantization.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "core/quant/quantized_sites.h"

namespace inlier {
namespace {

bool HasSixteenBits(v1::ReferenceSchemeSpec::Setup setup, SitePart part) {
  switch (setup) {
    case v1::ReferenceSchemeSpec::FP32_HEAD_INT16_FINAL_LN:
      return part == SitePart::kFinalNorm;
    case v1::ReferenceSchemeSpec::FP32_HEAD_INT16_ALL_LN:
      return part == SitePart::kFinalNorm || part == SitePart::kNorm;
    case v1::ReferenceSchemeSpec::FP32_HEAD:
    case v1::ReferenceSchemeSpec::ALL:
      return false;
  }
  return false;
}

}  // namespace

struct PostTrainingQuantization::Entry {
  Entry(const QuantizerOptions& options, std::unique_ptr<RangeEstimator> range_estimator)
      : quantizer(options.bits, options.symmetric), estimator(std::move(range_estimator)) {}

  Quantizer quantizer;
  std::unique_ptr<RangeEstimator> estimator;  // Null once the range is fixed.
  int order = -1;                             // -1: not used yet.
  std::vector<std::int64_t> shape;
  at::Tensor rounded_weight;
};

absl::StatusOr<std::unique_ptr<PostTrainingQuantization>> PostTrainingQuantization::Create(
    const v1::QuantizationSpec& spec, v1::ModelSpec::ArchitectureCase architecture) {
  if (!HasQuantizedSites(architecture)) {
    return absl::InvalidArgumentError(
        "quantization.reference: the reference has no quantizers for this architecture: use "
        "quantization.absmax or quantization.zeropoint");
  }
  ASSIGN_OR_RETURN(const PtqOptions options, PtqOptionsFromSpec(spec));
  return std::make_unique<PostTrainingQuantization>(options, architecture);
}

PostTrainingQuantization::PostTrainingQuantization(const PtqOptions& options,
                                                   v1::ModelSpec::ArchitectureCase architecture)
    : options_(options), sites_(QuantizedSites(architecture)) {}

PostTrainingQuantization::~PostTrainingQuantization() = default;

std::unique_ptr<PostTrainingQuantization::Entry> PostTrainingQuantization::MakeEntry(
    const std::string& site, bool is_weight, bool has_channels) const {
  const std::optional<QuantizerOptions>& wanted = is_weight ? options_.weights : options_.activations;
  if (!wanted) return nullptr;
  const QuantizedSite* place = FindQuantizedSite(sites_, site);
  if (place == nullptr || !(is_weight ? place->weight : place->activation)) return nullptr;
  if (place->part == SitePart::kHead && options_.setup != v1::ReferenceSchemeSpec::ALL) return nullptr;

  QuantizerOptions options = *wanted;
  if (HasSixteenBits(options_.setup, place->part)) options.bits = 16;
  options.per_channel = options.per_channel && has_channels;
  return std::make_unique<Entry>(options, MakeRangeEstimator(options));
}

PostTrainingQuantization::Entry* PostTrainingQuantization::Find(const std::string& site, bool is_weight,
                                                                bool has_channels) {
  EntryMap& entries = is_weight ? weights_ : activations_;
  const auto found = entries.find(site);
  if (found != entries.end()) return found->second.get();
  return entries.emplace(site, MakeEntry(site, is_weight, has_channels)).first->second.get();
}

at::Tensor PostTrainingQuantization::OnWeight(const std::string& site, const at::Tensor& weight) {
  Entry* entry = Find(site, /*is_weight=*/true, /*has_channels=*/weight.dim() > 1);
  if (entry == nullptr) return weight;
  if (!entry->rounded_weight.defined()) {
    const c10::NoGradGuard no_grad;
    entry->quantizer.SetRange(entry->estimator->Update(weight));
    entry->estimator.reset();
    entry->rounded_weight = entry->quantizer.Apply(weight);
    entry->order = next_order_++;
    entry->shape = weight.sizes().vec();
  }
  INLIER_CHECK(entry->rounded_weight.sizes() == weight.sizes());
  return entry->rounded_weight;
}

at::Tensor PostTrainingQuantization::OnActivation(const std::string& site, const at::Tensor& activation) {
  Entry* entry = Find(site, /*is_weight=*/false, /*has_channels=*/false);
  if (entry == nullptr) return activation;
  const c10::NoGradGuard no_grad;
  if (entry->order < 0) {
    entry->order = next_order_++;
    entry->shape = activation.sizes().vec();
  }
  if (entry->estimator != nullptr && !frozen_)
    entry->quantizer.SetRange(entry->estimator->Update(activation));
  return entry->quantizer.Apply(activation);
}

absl::Status PostTrainingQuantization::Freeze() {
  frozen_ = true;
  for (auto& [site, entry] : activations_) {
    if (entry != nullptr) entry->estimator.reset();
  }
  return absl::OkStatus();
}

void PostTrainingQuantization::SetActivationRange(const std::string& site, const ValueRange& range) {
  Entry* entry = Find(site, /*is_weight=*/false, /*has_channels=*/false);
  INLIER_CHECK(entry != nullptr);
  entry->quantizer.SetRange(range);
  entry->estimator.reset();
}

std::vector<QuantizerReport> PostTrainingQuantization::Table() const {
  std::vector<QuantizerReport> table;
  for (const EntryMap* entries : {&weights_, &activations_}) {
    for (const auto& [site, entry] : *entries) {
      if (entry == nullptr || entry->order < 0) continue;
      const Quantizer& quantizer = entry->quantizer;
      table.push_back({.order = entry->order,
                       .site = site,
                       .part = entries == &weights_ ? QuantizedPart::kWeight : QuantizedPart::kActivation,
                       .bits = quantizer.bits(),
                       .symmetric = quantizer.symmetric(),
                       .is_signed = quantizer.grid().is_signed,
                       .shape = entry->shape,
                       .range = quantizer.range(),
                       .grid = quantizer.grid()});
    }
  }
  std::sort(table.begin(), table.end(),
            [](const QuantizerReport& a, const QuantizerReport& b) { return a.order < b.order; });
  return table;
}

std::optional<at::Tensor> PostTrainingQuantization::QuantizedWeight(const std::string& site) const {
  const auto found = weights_.find(site);
  if (found == weights_.end() || found->second == nullptr) return std::nullopt;
  return found->second->rounded_weight;
}

}  // namespace inlier
