#include "core/trial/analysis_settings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/trial/architecture.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

using Absmax = v1::AbsmaxSchemeSpec;

v1::QuantizationSpec WithBits(std::uint32_t weights, std::uint32_t activations) {
  v1::QuantizationSpec setting;
  setting.mutable_weights()->set_bits(weights);
  if (activations != 0) setting.mutable_activations()->set_bits(activations);
  return setting;
}

v1::QuantizationSpec WithAbsmax(std::uint32_t bits, Absmax::Granularity granularity) {
  v1::QuantizationSpec setting = WithBits(bits, bits);
  setting.mutable_absmax()->set_granularity(granularity);
  return setting;
}

v1::QuantizationSpec WithFormat(v1::NumberFormat format) {
  v1::QuantizationSpec setting;
  setting.mutable_weights()->set_format(format);
  setting.mutable_activations()->set_format(format);
  setting.mutable_absmax()->set_granularity(Absmax::FINE);
  return setting;
}

template <typename Part>
std::uint32_t Bits(const Part& part) {
  return part.format() == v1::INTEGER ? part.bits() : BitsOf(part.format());
}

// " mse" for another way to find ranges than that of the scheme `reference`.
std::string RangeName(const v1::QuantizationSpec& setting) {
  if (setting.has_absmax() || setting.has_zeropoint()) return "";
  const v1::ActivationRangeSpec& range = setting.activations().range();
  if (range.has_minmax()) return " minmax";
  if (range.has_mse()) return " mse";
  if (range.has_percentile()) return " percentile";
  if (range.has_mse_search()) return " mse_search";
  return "";
}

}  // namespace

std::vector<v1::QuantizationSpec> UsualSettings(const v1::ModelSpec& model) {
  std::vector<v1::QuantizationSpec> settings;
  if (model.has_bert() || model.has_opt() || model.has_vit()) {
    for (const auto& [weights, activations] :
         {std::pair(8U, 8U), std::pair(6U, 8U), std::pair(4U, 8U), std::pair(6U, 6U)}) {
      settings.push_back(WithBits(weights, activations));
      settings.back().mutable_calibration()->set_batch_size(8);  // As Liao and Monz 2024.
    }
    return settings;
  }
  for (const Absmax::Granularity granularity : {Absmax::FINE, Absmax::MODERATE, Absmax::COARSE})
    settings.push_back(WithAbsmax(8, granularity));
  settings.push_back(WithBits(4, 0));
  settings.back().mutable_zeropoint();
  return settings;
}

std::vector<v1::QuantizationSpec> MethodSettings() {
  std::vector<v1::QuantizationSpec> settings;
  const auto add = [&settings](v1::QuantizationSpec base) -> v1::QuantizationSpec& {
    return settings.emplace_back(std::move(base));
  };
  for (const std::uint32_t bits : {8U, 4U}) {
    v1::QuantizationSpec reference = WithBits(bits, bits);
    reference.mutable_reference();
    add(reference);
    // Not the grid `mse`: at 8 bits it tries 12,800 ranges of each tensor.
    add(reference).mutable_activations()->mutable_range()->mutable_mse_search();
    add(reference).mutable_activations()->mutable_range()->mutable_percentile();
    for (const Absmax::Granularity granularity : {Absmax::COARSE, Absmax::MODERATE, Absmax::FINE})
      add(WithAbsmax(bits, granularity));
    const v1::QuantizationSpec fine = settings.back();
    add(fine).mutable_weights()->set_group_size(64);
    add(fine).mutable_smoothing();
    add(fine).mutable_gptq();
    add(fine).mutable_awq();
    add(fine).mutable_rotation();
    add(settings.back()).mutable_gptq();
    if (bits == 8) {
      add(WithFormat(v1::FP8_E4M3));
      add(WithFormat(v1::FP8_E5M2));
      add(WithFormat(v1::MXFP8_E4M3));
      add(WithFormat(v1::MXINT8));
    } else {
      add(WithFormat(v1::MXFP4));
      add(WithFormat(v1::NVFP4));
      add(fine).mutable_kv_cache()->set_bits(bits);
      add(settings.back()).mutable_rotation()->set_kv_cache(true);
    }
  }
  return settings;
}

absl::Status CheckScheme(const v1::QuantizationSpec& setting, const v1::ModelSpec& model) {
  if (setting.scheme_case() != v1::QuantizationSpec::SCHEME_NOT_SET ||
      !(model.has_gpt2() || model.has_llama()))
    return absl::OkStatus();
  std::vector<std::string> parts;
  if (setting.has_weights()) parts.push_back(absl::StrCat("weights: {bits: ", Bits(setting.weights()), "}"));
  if (setting.has_activations())
    parts.push_back(absl::StrCat("activations: {bits: ", Bits(setting.activations()), "}"));
  return absl::InvalidArgumentError(absl::StrCat(
      SettingName(setting), ": bits without a scheme are for BERT and OPT only; for model.",
      std::string(ArchitectureName(model)), " name a scheme in place of --bits: --quantization '{",
      absl::StrJoin(parts, ", "), ", absmax: {}}'"));
}

std::string SettingName(const v1::QuantizationSpec& setting) {
  std::string name;
  if (setting.has_weights()) absl::StrAppend(&name, "W", Bits(setting.weights()));
  if (setting.has_activations()) absl::StrAppend(&name, "A", Bits(setting.activations()));
  if (setting.has_kv_cache()) absl::StrAppend(&name, "KV", setting.kv_cache().bits());
  const v1::NumberFormat of_weights = setting.weights().format(), of_inputs = setting.activations().format();
  if (of_weights != v1::INTEGER) absl::StrAppend(&name, " ", v1::NumberFormat_Name(of_weights));
  if (of_inputs != v1::INTEGER && of_inputs != of_weights)
    absl::StrAppend(&name, " ", v1::NumberFormat_Name(of_inputs));
  absl::StrAppend(&name, RangeName(setting));
  if (setting.has_absmax())
    absl::StrAppend(&name, " absmax ", Absmax::Granularity_Name(setting.absmax().granularity()));
  if (setting.has_zeropoint()) absl::StrAppend(&name, " zeropoint");
  if (setting.weights().per_channel()) absl::StrAppend(&name, " per channel");
  if (setting.weights().has_group_size()) absl::StrAppend(&name, " group ", setting.weights().group_size());
  if (setting.weights().has_group_rows()) absl::StrAppend(&name, "x", setting.weights().group_rows());
  if (setting.activations().has_group_size())
    absl::StrAppend(&name, " activation group ", setting.activations().group_size());
  if (setting.kv_cache().has_kivi()) absl::StrAppend(&name, " KIVI");
  if (setting.has_rotation()) {
    absl::StrAppend(&name, setting.rotation().has_learned() ? " learned rotation" : " rotation",
                    setting.rotation().kv_cache() ? " KV" : "");
  }
  if (setting.activations().clip_ratio() != 1)
    absl::StrAppend(&name, " clip ", setting.activations().clip_ratio());
  if (setting.has_smoothing()) absl::StrAppend(&name, " smoothing");
  if (setting.has_gptq()) absl::StrAppend(&name, " gptq");
  if (setting.has_awq()) absl::StrAppend(&name, " awq");
  return name;
}

}  // namespace inlier
