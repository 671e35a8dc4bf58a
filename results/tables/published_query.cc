#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "results/tables/published.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/data_kind.h"
#include "spec/trial/presets.h"

namespace inlier {
namespace {

std::string Flag(bool value) { return value ? "1" : "0"; }

std::string LastPart(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end == std::string::npos ? 0 : end + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

// False for fields that do not make another model: they follow from the data, or are settings of their own.
bool IsOfTheSize(const std::string& field) {
  static constexpr std::string_view kOthers[] = {
      "preset",   "vocab_size", "max_positions", "image_size",          "channels", "classes", "biases",
      "position", "patch_norm", "kv_heads",      "patch_initialisation"};
  return std::find(std::begin(kOthers), std::end(kOthers), field) == std::end(kOthers);
}

// True when the sizes and the construction are those of the preset; resolved models have all of them.
bool IsPreset(const Preset& preset, const google::protobuf::Message& model) {
  using google::protobuf::FieldDescriptor;
  const auto* reflection = model.GetReflection();
  const auto* type = model.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (!IsOfTheSize(field->name())) continue;
    const auto size =
        std::ranges::find_if(preset.fields, [&](const auto& one) { return one.first == field->name(); });
    bool same = true;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_UINT32: {
        std::uint32_t wanted = size == preset.fields.end() ? 0 : size->second;
        if (wanted == 0 && field->name() == "embedding_size")
          wanted = reflection->GetUInt32(model, type->FindFieldByName("hidden_size"));
        same = reflection->GetUInt32(model, field) == wanted;
        break;
      }
      case FieldDescriptor::CPPTYPE_DOUBLE:
        same = reflection->GetDouble(model, field) == field->default_value_double();
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        same = reflection->GetEnum(model, field) == field->default_value_enum();
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        same = reflection->GetBool(model, field) == field->default_value_bool();
        break;
      default:
        break;
    }
    if (!same) return false;
  }
  return true;
}

// The paper's name of the model, by the folder it starts from or its sizes; empty for one that no paper has.
std::string ModelName(const v1::TrialSpec& spec, const std::string& architecture) {
  const std::string& folder = spec.training().start_from().hugging_face();
  if (!folder.empty()) return absl::AsciiStrToLower(LastPart(folder));
  std::string name;
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
    for (const Preset& preset : Presets()) {
      if (preset.architecture != architecture || !IsPreset(preset, model)) continue;
      name = preset.name;
    }
  });
  if (name.empty() || name == "tiny" || name == "small") return "";
  if (name == "liao-small") name = "small";
  return absl::StrCat(architecture == "llama" ? "llama2" : architecture, "-", name);
}

// Empty for a method that no paper has: other softmaxes and gates, and two methods at once.
std::string MethodName(const v1::AttentionSpec& attention) {
  const v1::GateSpec& gate = attention.gate();
  const bool gated = HasGate(gate);
  const v1::SoftmaxSpec& softmax = attention.softmax();
  switch (softmax.kind_case()) {
    case v1::SoftmaxSpec::kClipped:
      return gated ? "" : "clipped_softmax";
    case v1::SoftmaxSpec::kNcs:
      return gated ? "" : "normalized_clipped_softmax";
    case v1::SoftmaxSpec::kSoftmaxN:
      return gated || softmax.softmax_n().n() != 1 ? "" : "softmax1";
    case v1::SoftmaxSpec::kVanilla:
    case v1::SoftmaxSpec::KIND_NOT_SET:
      break;
    default:
      return "";
  }
  if (!gated) return "vanilla";
  const bool of_the_paper = gate.has_linear() || gate.has_mlp() || gate.has_all_heads_linear();
  return of_the_paper && !gate.pooled() ? "gated_attention" : "";
}

// True with penalties, parts of attention or tokens that no table has. Bondarenko et al. (B.6) penalise the outputs of the
// feed-forward networks where gates are added to a trained model.
bool HasOtherParts(const v1::TrialSpec& spec) {
  const v1::AttentionSpec& attention = spec.attention();
  const v1::RegularizerSpec& regularizer = spec.training().regularizer();
  const bool adds_gates = HasGate(attention.gate()) && spec.training().has_start_from();
  return regularizer.has_kurtosis() || (regularizer.has_ffn_output() && !adds_gates) ||
         attention.query_key_norm() != v1::NO_NORM || attention.key_value_bias() || attention.has_window() ||
         attention.document_mask() || spec.model().vit().registers() > 0 || spec.norm_gate() > 0 ||
         spec.embedding_projection() || spec.residual_gain() != 1;
}

void AddAttention(const v1::TrialSpec& spec, const std::string& method, PublishedQuery* query) {
  auto& settings = query->settings;
  const v1::ClippedSoftmaxSpec& clipped = spec.attention().softmax().clipped();
  if (method == "clipped_softmax") {
    settings["gamma"] = clipped.has_alpha()
                            ? absl::StrCat("-", FormatNumber(clipped.alpha()), "/", SequenceLength(spec))
                            : FormatNumber(clipped.gamma());
    settings["zeta"] = FormatNumber(clipped.zeta());
  } else if (method == "normalized_clipped_softmax") {
    settings["beta"] = FormatNumber(spec.attention().softmax().ncs().beta());
    settings["zeta"] = FormatNumber(spec.attention().softmax().ncs().zeta());
  } else if (method == "vanilla") {
    settings["gamma"] = "0";
    settings["zeta"] = "1";
  }
  settings["softmax"] = method == "gated_attention" ? "vanilla" : method;
  const v1::GateSpec& gate = spec.attention().gate();
  settings["gate_factor"] = FormatNumber(gate.output_factor());
  if (gate.has_linear()) {
    settings["gate"] = "linear";
    settings["pi_init"] = FormatNumber(gate.linear().pi_init());
  } else if (gate.has_mlp()) {
    settings["gate"] = "mlp";
    // "n_hid = 4" of the paper is a quarter of the head's width in its code, "64" the whole.
    VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
      const std::uint32_t width = model.heads() == 0 ? 0 : model.hidden_size() / model.heads();
      const std::uint32_t hidden = gate.mlp().hidden_size();
      settings["n_hid"] = hidden * 4 == width ? "4" : hidden == width ? "64" : absl::StrCat(hidden, " units");
    });
  } else if (gate.has_all_heads_linear()) {
    settings["gate"] =
        gate.all_heads_linear().has_pi_init() ? "all_heads_linear with pi_init" : "all_heads_linear";
  }
}

std::string PositionName(v1::Position position) {
  return position == v1::LEARNED ? "absolute" : position == v1::ROTARY ? "rotary" : "none";
}

void AddModel(const v1::TrialSpec& spec, PublishedQuery* query) {
  auto& settings = query->settings;
  settings["norm"] = spec.norm() == v1::LAYER_NORM   ? "layernorm"
                     : spec.norm() == v1::RMS_NORM_M ? "rmsnorm_multi"
                     : spec.norm() == v1::RMS_NORM_S ? "rmsnorm_single"
                                                     : "";
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
    if constexpr (requires { model.biases(); }) settings["bias"] = Flag(model.biases());
    if constexpr (requires { model.position(); }) settings["position"] = PositionName(model.position());
    if constexpr (requires { model.patch_norm(); }) settings["patch_ln"] = Flag(model.patch_norm());
  });
}

// The papers call Adam also the one that decouples the decay.
void AddOptimizer(const v1::OptimizerSpec& optimizer, PublishedQuery* query) {
  auto& settings = query->settings;
  const std::string kind = ChosenMember(optimizer, "kind");
  settings["optimizer"] = kind == "adamw"                  ? "adam"
                          : kind == "ortho_adam"           ? "orthoadam"
                          : optimizer.sgd().momentum() > 0 ? "sgd_momentum"
                                                           : kind;
  const google::protobuf::Message& chosen =
      optimizer.GetReflection()->GetMessage(optimizer, optimizer.GetDescriptor()->FindFieldByName(kind));
  const auto text_of = [&chosen](const char* name) {
    const auto* field = chosen.GetDescriptor()->FindFieldByName(name);
    return field == nullptr ? "" : LeafText(field, chosen);
  };
  settings["learning_rate"] = text_of("learning_rate");
  settings["weight_decay"] = text_of("weight_decay");
  settings["ln_gamma_wd"] = Flag(text_of("decay_norm_gamma") == "true");
  if (const std::string beta2 = text_of("beta2"); !beta2.empty()) settings["beta2"] = beta2;
}

void AddData(const v1::TrialSpec& spec, PublishedQuery* query) {
  auto& settings = query->settings;
  const v1::DataSpec& data = spec.data();
  const auto name = [](const std::string& known, const std::string& path) {
    const std::string file = known.empty() ? absl::AsciiStrToLower(LastPart(path)) : known;
    const std::pair<std::string, std::string> parts = absl::StrSplit(file, absl::MaxSplits('.', 1));
    return parts.first;
  };
  if (data.has_text()) {
    settings["corpus"] = name(data.text().corpus(), data.text().path());
    settings["mask"] = FormatNumber(data.text().mask_probability());
  } else if (data.has_images()) {
    settings["corpus"] = name(data.images().dataset(), data.images().path());
  } else if (data.has_instructions()) {
    settings["corpus"] = name("", data.instructions().path());
  }
  if (const std::optional<TokenizedData> tokenized = TokenizedDataOf(data);
      tokenized && tokenized->tokenizer != nullptr) {
    const v1::TokenizerSpec& tokenizer = *tokenized->tokenizer;
    settings["tokenizer"] = tokenizer.has_wordpiece() ? LastPart(tokenizer.wordpiece().vocab())
                            : tokenizer.has_gpt2()    ? LastPart(tokenizer.gpt2().vocab())
                                                      : "trained on the corpus";
  }
  const std::string length = absl::StrCat(SequenceLength(spec));
  settings["train_seq_len"] = length;
  settings["eval_seq_len"] =
      spec.evaluation().has_sequence_length() ? absl::StrCat(spec.evaluation().sequence_length()) : length;
}

void AddTraining(const v1::TrialSpec& spec, PublishedQuery* query) {
  auto& settings = query->settings;
  const v1::TrainingSpec& training = spec.training();
  AddOptimizer(training.optimizer(), query);
  if (training.has_steps()) settings["steps"] = absl::StrCat(training.steps());
  if (training.has_epochs()) settings["epochs"] = absl::StrCat(training.epochs());
  settings["batch"] = absl::StrCat(std::uint64_t{training.batch_size()} * training.gradient_accumulation());
  settings["dropout"] = FormatNumber(spec.dropout());
  settings["schedule"] = ChosenMember(training.schedule(), "kind");
  if (!training.schedule().has_warmup_fraction())
    settings["warmup"] = absl::StrCat(training.schedule().warmup_steps());
  settings["finetune"] = spec.data().has_classification()      ? "glue"
                         : spec.data().has_instructions()      ? "instruction"
                         : training.start_from().source_case() ? "1"
                                                               : "0";
  settings["pretrained"] = Flag(training.start_from().has_hugging_face());
}

void AddQuantization(const v1::QuantizationSpec& quantization, PublishedQuery* query) {
  auto& settings = query->settings;
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  settings["scheme"] = ChosenMember(quantization, "scheme");
  settings["weight_range"] = ChosenMember(weights.range(), "kind");
  settings["weight_grid"] =
      absl::StrCat(weights.symmetric() ? "symmetric" : "asymmetric", weights.per_channel() ? " channels" : "",
                   weights.has_group_size() ? absl::StrCat(" groups of ", weights.group_size()) : "");
  const v1::ActivationRangeSpec& range = quantization.activations().range();
  settings["activation_range"] = ChosenMember(range, "kind");
  if (range.running_minmax().has_percentile())
    absl::StrAppend(&settings["activation_range"], "-", FormatNumber(range.running_minmax().percentile()));
  settings["activation_grid"] = quantization.activations().symmetric() ? "symmetric" : "asymmetric";
}

// The formats and methods that no published number has; empty without any.
std::string OtherMethods(const v1::QuantizationSpec& quantization) {
  std::string methods;
  for (const v1::NumberFormat format :
       {quantization.weights().format(), quantization.activations().format()}) {
    if (format != v1::INTEGER)
      absl::StrAppend(&methods, " ", absl::AsciiStrToLower(v1::NumberFormat_Name(format)));
  }
  if (quantization.has_kv_cache()) absl::StrAppend(&methods, " kv", quantization.kv_cache().bits());
  if (quantization.activations().has_group_size() || quantization.weights().has_group_rows())
    absl::StrAppend(&methods, " tiles");
  if (quantization.has_rotation()) absl::StrAppend(&methods, " rotation");
  if (quantization.has_smoothing()) absl::StrAppend(&methods, " smoothing");
  if (quantization.has_gptq()) absl::StrAppend(&methods, " gptq");
  if (quantization.has_awq()) absl::StrAppend(&methods, " awq");
  return methods;
}

// The prefix of "_perplexity" and "_top1": "fp", "w8a8", "absmax_fine", "zeropoint_w4"; "other" where no paper has one.
std::string PrecisionName(const v1::QuantizationSpec& quantization, const std::string& bits) {
  if (bits == "fp16") return "fp";
  if (quantization.has_absmax()) {
    const std::string granularity =
        absl::AsciiStrToLower(v1::AbsmaxSchemeSpec::Granularity_Name(quantization.absmax().granularity()));
    return bits == "w8a8" ? absl::StrCat("absmax_", granularity) : "other";
  }
  if (quantization.has_zeropoint()) {
    return quantization.has_activations() || !quantization.has_weights() ||
                   !OtherMethods(quantization).empty()
               ? "other"
               : absl::StrCat("zeropoint_w", quantization.weights().bits());
  }
  return bits;
}

// GLUE's name of a set and a measure: "mnli_m_acc" of /data/glue/MNLI with dev_matched.tsv and accuracy.
std::string GlueMetric(const v1::ClassificationDataSpec& data, const std::string& measurement) {
  std::string set = absl::AsciiStrToLower(LastPart(data.path()));
  std::erase(set, '-');
  if (set == "mnli") absl::StrAppend(&set, data.validation_file() == "dev_mismatched.tsv" ? "_mm" : "_m");
  const std::string measure = measurement == "accuracy" ? "acc"
                              : measurement == "matthews_correlation"
                                  ? "mcc"
                                  : measurement.substr(0, measurement.find('_'));
  return absl::StrCat(set, "_", measure);
}

// The papers' names of a measurement.
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
      {"peak_gpu_memory_mib", "vram_gb"},
  };
  if (measurement == "average") return {measurement};  // Of a row's figures.
  const std::string precision = PrecisionName(spec.quantization(), bits);
  if (measurement == "perplexity") return {precision + "_perplexity", "perplexity"};
  if (spec.data().has_classification()) return {GlueMetric(spec.data().classification(), measurement)};
  if (measurement == "accuracy" && spec.data().has_images()) return {precision + "_top1"};
  if (measurement == "accuracy") return {"mlm_accuracy"};
  for (const auto& [ours, papers] : kNames) {
    // One largest element alone, where printed, is of all tokens (the setting `tokens`).
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
  query.method = HasOtherParts(spec) ? "" : MethodName(spec.attention());
  AddAttention(spec, query.method, &query);
  AddModel(spec, &query);
  AddData(spec, &query);
  AddTraining(spec, &query);
  const v1::QuantizationSpec& quantization = spec.quantization();
  const auto part = [](const char* letter, bool there, std::uint32_t bits) {
    return absl::StrCat(letter, there ? bits : 16u);
  };
  const std::string bits =
      !spec.has_quantization()
          ? "fp16"
          : part("w", quantization.has_weights(), quantization.weights().bits()) +
                part("a", quantization.has_activations(), quantization.activations().bits()) +
                OtherMethods(quantization);
  query.settings["bits"] = bits;
  if (spec.has_quantization()) AddQuantization(quantization, &query);
  query.settings["tokens"] = measurement == "max_abs_first" ? "first" : "all";
  query.metrics = MetricNames(spec, measurement, bits);
  return query;
}

}  // namespace inlier
