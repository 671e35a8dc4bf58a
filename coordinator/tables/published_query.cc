#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/tables/published.h"
#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

std::string Flag(bool value) { return value ? "1" : "0"; }

std::string LastPart(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end == std::string::npos ? 0 : end + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The name of the paper's model that this one is: from the folder it starts from, or its preset. Empty for
// inlier's own small sizes, which no paper has.
std::string ModelName(const v1::TrialSpec& spec, const std::string& architecture) {
  const std::string& folder = spec.training().start_from().hugging_face();
  if (!folder.empty()) return LowerCase(LastPart(folder));
  std::string preset;
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) { preset = model.preset(); });
  if (preset == "tiny" || preset == "small") return "";
  if (preset == "liao-small") preset = "small";
  return absl::StrCat(architecture == "llama" ? "llama2" : architecture, "-", preset);
}

std::string MethodName(const v1::AttentionSpec& attention) {
  switch (attention.softmax().kind_case()) {
    case v1::SoftmaxSpec::kClipped:
      return "clipped_softmax";
    case v1::SoftmaxSpec::kNcs:
      return "normalized_clipped_softmax";
    case v1::SoftmaxSpec::kSoftmaxN:
      return "softmax1";
    default:
      break;
  }
  const v1::GateSpec& gate = attention.gate();
  return gate.kind_case() == v1::GateSpec::KIND_NOT_SET || gate.has_none() ? "vanilla" : "gated_attention";
}

void AddAttention(const v1::TrialSpec& spec, const std::string& method, PublishedQuery* query) {
  auto& settings = query->settings;
  const v1::ClippedSoftmaxSpec& clipped = spec.attention().softmax().clipped();
  if (method == "clipped_softmax") {
    settings["gamma"] = clipped.has_alpha()
                            ? absl::StrCat("-", FormatNumber(clipped.alpha()), "/", SequenceLength(spec))
                            : FormatNumber(clipped.gamma());
    settings["zeta"] = FormatNumber(clipped.zeta());
  } else if (method == "vanilla") {
    settings["gamma"] = "0";
    settings["zeta"] = "1";
  }
  settings["softmax"] = method == "gated_attention" ? "vanilla" : method;
  const v1::GateSpec& gate = spec.attention().gate();
  if (gate.has_linear()) {
    settings["gate"] = "linear";
    settings["pi_init"] = FormatNumber(gate.linear().pi_init());
  } else if (gate.has_mlp()) {
    settings["gate"] = "mlp";
    // "n_hid = 4" of the paper is a quarter of the head's width in its code, "64" the whole.
    VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
      const std::uint32_t width = model.heads() == 0 ? 0 : model.hidden_size() / model.heads();
      const std::uint32_t hidden = gate.mlp().hidden_size();
      settings["n_hid"] = hidden * 4 == width ? "4" : hidden == width ? "64" : absl::StrCat(hidden);
    });
  } else if (gate.has_all_heads_linear()) {
    settings["gate"] = "all_heads_linear";
  }
}

std::string PositionName(v1::Position position) {
  return position == v1::LEARNED ? "absolute" : position == v1::ROTARY ? "rotary" : "none";
}

void AddModel(const v1::TrialSpec& spec, PublishedQuery* query) {
  auto& settings = query->settings;
  settings["norm"] = spec.norm() == v1::LAYER_NORM   ? "layernorm"
                     : spec.norm() == v1::RMS_NORM_M ? "rmsnorm_multi"
                                                     : "rmsnorm_single";
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
    if constexpr (requires { model.biases(); }) settings["bias"] = Flag(model.biases());
    if constexpr (requires { model.position(); }) settings["position"] = PositionName(model.position());
    if constexpr (requires { model.patch_norm(); }) settings["patch_ln"] = Flag(model.patch_norm());
  });
}

// The name of the optimizer, and whether the norms' gains are decayed.
std::pair<std::string, bool> OptimizerNames(const v1::OptimizerSpec& optimizer) {
  switch (optimizer.kind_case()) {
    case v1::OptimizerSpec::kOrthoAdam:
      return {"orthoadam", optimizer.ortho_adam().decay_norm_gamma()};
    case v1::OptimizerSpec::kRmsprop:
      return {"rmsprop", optimizer.rmsprop().decay_norm_gamma()};
    case v1::OptimizerSpec::kSgd:
      return {optimizer.sgd().momentum() > 0 ? "sgd_momentum" : "sgd", optimizer.sgd().decay_norm_gamma()};
    case v1::OptimizerSpec::kAdam:
      return {"adam", optimizer.adam().decay_norm_gamma()};
    default:  // "Adam" of the papers that decouple the decay, too.
      return {"adam", optimizer.adamw().decay_norm_gamma()};
  }
}

void AddTraining(const v1::TrialSpec& spec, PublishedQuery* query) {
  auto& settings = query->settings;
  const auto [optimizer, decays_norm_gamma] = OptimizerNames(spec.training().optimizer());
  settings["optimizer"] = optimizer;
  settings["ln_gamma_wd"] = Flag(decays_norm_gamma);
  const std::string length = absl::StrCat(SequenceLength(spec));
  settings["train_seq_len"] = length;
  settings["eval_seq_len"] =
      spec.evaluation().has_sequence_length() ? absl::StrCat(spec.evaluation().sequence_length()) : length;
  if (spec.data().has_classification()) {
    settings["finetune"] = "glue";
  } else if (spec.data().has_instructions()) {
    settings["finetune"] = "instruction";
  } else if (spec.training().has_start_from()) {
    settings["finetune"] = "1";
  }
  if (spec.training().start_from().has_hugging_face()) settings["pretrained"] = "1";
}

// The prefix of "_perplexity" and "_top1": "fp", "w8a8", "absmax_fine", "zeropoint_w4".
std::string PrecisionName(const v1::QuantizationSpec& quantization, const std::string& bits) {
  if (bits == "fp16") return "fp";
  if (quantization.has_absmax() && bits == "w8a8") {
    return absl::StrCat(
        "absmax_", LowerCase(v1::AbsmaxSchemeSpec::Granularity_Name(quantization.absmax().granularity())));
  }
  if (quantization.has_zeropoint() && !quantization.has_activations())
    return absl::StrCat("zeropoint_w", quantization.weights().bits());
  return bits;
}

// GLUE's name of a set and a measure: "mnli_m_acc" of /data/glue/MNLI with dev_matched.tsv and accuracy.
std::string GlueMetric(const v1::ClassificationDataSpec& data, const std::string& measurement) {
  std::string set = LowerCase(LastPart(data.path()));
  std::erase(set, '-');
  if (set == "mnli") absl::StrAppend(&set, data.validation_file() == "dev_mismatched.tsv" ? "_mm" : "_m");
  const std::string measure = measurement == "accuracy" ? "acc"
                              : measurement == "matthews_correlation"
                                  ? "mcc"
                                  : measurement.substr(0, measurement.find('_'));
  return absl::StrCat(set, "_", measure);
}

// The names of what is measured; the papers' differ.
std::vector<std::string> MetricNames(const v1::TrialSpec& spec, const std::string& measurement,
                                     const std::string& bits) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"kurtosis_first", "kurtosis_first_token"},
      {"kurtosis_rest", "kurtosis_other_tokens"},
      {"kurtosis_all", "kurtosis"},
      {"max_abs_first", "max_abs_activation_first_token"},
      {"max_abs_rest", "max_abs_activation_other_tokens"},
      {"first_attention_share", "first_token_attention_fraction"},
      {"first_key_mass", "first_token_attention_sum"},
      {"train_seconds", "a100_hours"},
      {"tokens_per_second", "iterations_per_second"},
  };
  const std::string precision = PrecisionName(spec.quantization(), bits);
  if (measurement == "perplexity") return {precision + "_perplexity", "perplexity"};
  if (spec.data().has_classification()) return {GlueMetric(spec.data().classification(), measurement)};
  if (measurement == "accuracy" && spec.data().has_images()) return {precision + "_top1"};
  if (measurement == "accuracy") return {"mlm_accuracy"};
  for (const auto& [ours, papers] : kNames) {
    // Where one largest element is printed it is that of all tokens, and with outliers token 1 has it.
    if (ours == measurement && ours == "max_abs_first") return {std::string(papers), "max_abs_activation"};
    if (ours == measurement) return {std::string(papers)};
  }
  return {measurement};
}

}  // namespace

PublishedQuery PublishedQueryOf(const v1::TrialSpec& spec, const std::string& measurement) {
  PublishedQuery query;
  query.architecture = std::string(ArchitectureName(spec.model()));
  query.model = ModelName(spec, query.architecture);
  query.method = MethodName(spec.attention());
  AddAttention(spec, query.method, &query);
  AddModel(spec, &query);
  AddTraining(spec, &query);
  const v1::QuantizationSpec& quantization = spec.quantization();
  const auto part = [](const char* letter, bool there, std::uint32_t bits) {
    return absl::StrCat(letter, there ? bits : 16u);
  };
  const std::string bits =
      !spec.has_quantization()
          ? "fp16"
          : part("w", quantization.has_weights(), quantization.weights().bits()) +
                part("a", quantization.has_activations(), quantization.activations().bits());
  query.settings["bits"] = bits;
  if (spec.has_quantization())
    query.settings["weight_range"] = quantization.weights().range().has_mse() ? "mse" : "minmax";
  query.metrics = MetricNames(spec, measurement, bits);
  return query;
}

}  // namespace inlier
