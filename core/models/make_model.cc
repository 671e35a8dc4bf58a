#include "core/models/make_model.h"

#include <cmath>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/models/bert.h"
#include "core/models/bert_classifier.h"
#include "core/models/decoder.h"
#include "core/models/layer_options.h"
#include "core/models/opt.h"
#include "core/models/vit.h"

namespace inlier {
namespace {

// The options that all language models have; the resolver must have filled in the sizes.
template <typename Options, typename Spec>
absl::StatusOr<Options> TextOptions(const v1::TrialSpec& trial, const Spec& spec, const std::string& path,
                                    const ModelShape& shape) {
  Options options;
  ASSIGN_OR_RETURN(options.layer, MakeLayerOptions(trial, SizesOf(spec), path, shape.roots));
  if (trial.attention().document_mask()) {
    if (shape.document_start < 0)
      return InvalidField("attention.document_mask", "needs data.text, a token of which begins each text");
    options.layer.attention.document_start = shape.document_start;
  }
  if (spec.vocab_size() == 0) return InvalidField(path + ".vocab_size", "must be given and at least 1");
  if (spec.max_positions() == 0) return InvalidField(path + ".max_positions", "must be given and at least 1");
  options.layers = spec.layers();
  options.vocab_size = spec.vocab_size();
  options.max_positions = spec.max_positions();
  return options;
}

absl::StatusOr<BertOptions> MakeBertOptions(const v1::TrialSpec& trial, const ModelShape& shape) {
  const v1::BertSpec& spec = trial.model().bert();
  ASSIGN_OR_RETURN(BertOptions options, TextOptions<BertOptions>(trial, spec, "model.bert", shape));
  options.position = MakePositionOptions(spec.position(), spec.rotary_theta());
  return options;
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeBert(const v1::TrialSpec& trial, const ModelShape& shape) {
  ASSIGN_OR_RETURN(const BertOptions options, MakeBertOptions(trial, shape));
  return std::make_shared<Bert>(options);
}

absl::StatusOr<std::shared_ptr<Model>> MakeClassifier(const v1::TrialSpec& trial, const ModelShape& shape) {
  if (!trial.model().has_bert())
    return InvalidField("data.classification", "needs model.bert, whose [CLS] token it classifies");
  if (shape.classes < 1) return InvalidField("data.classification", "the number of classes is not known");
  ASSIGN_OR_RETURN(const BertOptions options, MakeBertOptions(trial, shape));
  return std::make_shared<BertClassifier>(options, shape.classes);
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeOpt(const v1::TrialSpec& trial, const ModelShape& shape) {
  const v1::OptSpec& spec = trial.model().opt();
  ASSIGN_OR_RETURN(OptOptions options, TextOptions<OptOptions>(trial, spec, "model.opt", shape));
  options.embedding_size = spec.has_embedding_size() ? spec.embedding_size() : spec.hidden_size();
  return std::make_shared<Opt>(options);
}

bool IsWindowed(const v1::LlamaSpec& spec, std::int64_t layer) {
  if (!spec.has_window() || layer < spec.window_from()) return false;
  return !spec.has_window_period() || (layer + 1) % spec.window_period() != 0;
}

RotaryScaling ScalingOf(const v1::RotaryScalingSpec& spec) {
  using Kind = RotaryScaling::Kind;
  switch (spec.kind_case()) {
    case v1::RotaryScalingSpec::kNone:
    case v1::RotaryScalingSpec::KIND_NOT_SET:
      break;
    case v1::RotaryScalingSpec::kLinear:
      return {.kind = Kind::kLinear, .factor = spec.linear().factor()};
    case v1::RotaryScalingSpec::kDynamic:
      return {.kind = Kind::kDynamic,
              .factor = spec.dynamic().factor(),
              .original_positions = spec.dynamic().original_positions()};
    case v1::RotaryScalingSpec::kLlama3:
      return {.kind = Kind::kLlama3,
              .factor = spec.llama3().factor(),
              .original_positions = spec.llama3().original_positions(),
              .low = spec.llama3().low_factor(),
              .high = spec.llama3().high_factor()};
    case v1::RotaryScalingSpec::kYarn: {
      const v1::YarnRotarySpec& yarn = spec.yarn();
      return {.kind = Kind::kYarn,
              .factor = yarn.factor(),
              .original_positions = yarn.original_positions(),
              .low = yarn.beta_slow(),
              .high = yarn.beta_fast(),
              .truncate = yarn.truncate(),
              .amplitude =
                  yarn.has_attention_factor() ? yarn.attention_factor() : 0.1 * std::log(yarn.factor()) + 1};
    }
  }
  return {};
}

// What other decoders do not have.
absl::Status TakeLlama(const v1::LlamaSpec& spec, DecoderOptions* options) {
  LayerOptions& layer = options->layer;
  SelfAttentionOptions& attention = layer.attention;
  if (spec.has_qkv_biases()) attention.qkv_bias = spec.qkv_biases();
  if (spec.has_ffn_biases()) layer.ffn_bias = spec.ffn_biases();
  attention.score_cap = spec.score_cap();
  attention.score_size = spec.score_size();
  layer.gated_ffn = spec.gated_ffn();
  layer.parallel = spec.parallel();
  if (spec.has_window()) {
    attention.window = spec.window();
    for (std::int64_t i = 0; i < options->layers; ++i) options->windowed.push_back(IsWindowed(spec, i));
  }
  options->logit_cap = spec.logit_cap();
  options->embedding_factor = spec.embedding_factor();
  if (spec.position() != v1::ROTARY) return absl::OkStatus();
  RotaryOptions& rotary = options->position.rotary;
  rotary.scaling = ScalingOf(spec.rotary_scaling());
  rotary.size = static_cast<std::int64_t>(static_cast<double>(attention.head_width()) * spec.rotary_share());
  attention.whole_rotary = rotary.size == attention.head_width();
  if (rotary.size >= 2 && rotary.size % 2 == 0) return absl::OkStatus();
  return InvalidField("model.llama.rotary_share",
                      absl::StrCat("rotates ", rotary.size, " features of a head of ", attention.head_width(),
                                   ", and pairs of them are rotated: choose an even number"));
}

// Gpt2Spec or LlamaSpec.
template <typename Spec>
absl::StatusOr<std::shared_ptr<LanguageModel>> MakeDecoder(const v1::TrialSpec& trial, const Spec& spec,
                                                           const DecoderStyle& style,
                                                           const ModelShape& shape) {
  ASSIGN_OR_RETURN(
      DecoderOptions options,
      TextOptions<DecoderOptions>(trial, spec, absl::StrCat("model.", style.architecture), shape));
  options.position = MakePositionOptions(spec.position(), spec.rotary_theta());
  options.tied_head = spec.tied_head();
  options.embedding_projection = trial.embedding_projection();
  if constexpr (std::is_same_v<Spec, v1::LlamaSpec>) RETURN_IF_ERROR(TakeLlama(spec, &options));
  return std::make_shared<Decoder>(style, options);
}

absl::StatusOr<std::shared_ptr<Model>> MakeVit(const v1::TrialSpec& trial, const DataRoots& roots) {
  const v1::VitSpec& spec = trial.model().vit();
  VitOptions options;
  ASSIGN_OR_RETURN(options.layer, MakeLayerOptions(trial, SizesOf(spec), "model.vit", roots));
  options.layers = spec.layers();
  options.image_size = spec.image_size();
  options.patch_size = spec.patch_size();
  options.channels = spec.channels();
  options.classes = spec.classes();
  if (options.patch_size == 0 || options.image_size == 0 || options.image_size % options.patch_size != 0) {
    return InvalidField("model.vit.patch_size",
                        absl::StrCat(options.patch_size, " does not divide image_size ", options.image_size));
  }
  if (options.channels == 0) return InvalidField("model.vit.channels", "must be given and at least 1");
  if (options.classes == 0) return InvalidField("model.vit.classes", "must be given and at least 2");
  options.patch_norm = spec.patch_norm();
  options.registers = spec.registers();
  options.position = MakePositionOptions(spec.position());
  return std::make_shared<Vit>(options);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> MakeModel(const v1::TrialSpec& resolved, const ModelShape& shape) {
  if (resolved.data().has_classification()) return MakeClassifier(resolved, shape);
  if (resolved.model().has_vit()) return MakeVit(resolved, shape.roots);
  return MakeLanguageModel(resolved, shape);
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeLanguageModel(const v1::TrialSpec& resolved,
                                                                 const ModelShape& shape) {
  const v1::ModelSpec& model = resolved.model();
  switch (model.architecture_case()) {
    case v1::ModelSpec::kBert:
      return MakeBert(resolved, shape);
    case v1::ModelSpec::kOpt:
      return MakeOpt(resolved, shape);
    case v1::ModelSpec::kGpt2:
      return MakeDecoder(resolved, model.gpt2(), kGpt2Style, shape);
    case v1::ModelSpec::kLlama:
      return MakeDecoder(resolved, model.llama(), kLlamaStyle, shape);
    case v1::ModelSpec::kVit:
      return InvalidField("model.vit", "reads images, where a language model is needed");
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  return InvalidField("model", "one of bert, opt, gpt2, llama and vit must be given");
}

std::int64_t CountParameters(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : model.parameters()) count += parameter.numel();
  return count;
}

}  // namespace inlier
