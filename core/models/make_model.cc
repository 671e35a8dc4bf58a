#include "core/models/make_model.h"

#include <string>

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
                                    const DataRoots& roots) {
  Options options;
  ASSIGN_OR_RETURN(options.layer, MakeLayerOptions(trial, SizesOf(spec), path, roots));
  if (spec.vocab_size() == 0) return InvalidField(path + ".vocab_size", "must be given and at least 1");
  if (spec.max_positions() == 0) return InvalidField(path + ".max_positions", "must be given and at least 1");
  options.layers = spec.layers();
  options.vocab_size = spec.vocab_size();
  options.max_positions = spec.max_positions();
  return options;
}

absl::StatusOr<BertOptions> MakeBertOptions(const v1::TrialSpec& trial, const DataRoots& roots) {
  const v1::BertSpec& spec = trial.model().bert();
  ASSIGN_OR_RETURN(BertOptions options, TextOptions<BertOptions>(trial, spec, "model.bert", roots));
  options.position = MakePositionOptions(spec.position(), spec.rotary_theta());
  return options;
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeBert(const v1::TrialSpec& trial, const DataRoots& roots) {
  ASSIGN_OR_RETURN(const BertOptions options, MakeBertOptions(trial, roots));
  return std::make_shared<Bert>(options);
}

absl::StatusOr<std::shared_ptr<Model>> MakeClassifier(const v1::TrialSpec& trial, const ModelShape& shape) {
  if (!trial.model().has_bert())
    return InvalidField("data.classification", "needs model.bert, whose [CLS] token it classifies");
  if (shape.classes < 1) return InvalidField("data.classification", "the number of classes is not known");
  ASSIGN_OR_RETURN(const BertOptions options, MakeBertOptions(trial, shape.roots));
  return std::make_shared<BertClassifier>(options, shape.classes);
}

absl::StatusOr<std::shared_ptr<LanguageModel>> MakeOpt(const v1::TrialSpec& trial, const DataRoots& roots) {
  const v1::OptSpec& spec = trial.model().opt();
  ASSIGN_OR_RETURN(OptOptions options, TextOptions<OptOptions>(trial, spec, "model.opt", roots));
  options.embedding_size = spec.has_embedding_size() ? spec.embedding_size() : spec.hidden_size();
  return std::make_shared<Opt>(options);
}

// Gpt2Spec or LlamaSpec.
template <typename Spec>
absl::StatusOr<std::shared_ptr<LanguageModel>> MakeDecoder(const v1::TrialSpec& trial, const Spec& spec,
                                                           const DecoderStyle& style,
                                                           const DataRoots& roots) {
  ASSIGN_OR_RETURN(
      DecoderOptions options,
      TextOptions<DecoderOptions>(trial, spec, absl::StrCat("model.", style.architecture), roots));
  options.position = MakePositionOptions(spec.position(), spec.rotary_theta());
  options.tied_head = spec.tied_head();
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
  options.position = MakePositionOptions(spec.position(), /*rotary_theta=*/0);
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
      return MakeBert(resolved, shape.roots);
    case v1::ModelSpec::kOpt:
      return MakeOpt(resolved, shape.roots);
    case v1::ModelSpec::kGpt2:
      return MakeDecoder(resolved, model.gpt2(), kGpt2Style, shape.roots);
    case v1::ModelSpec::kLlama:
      return MakeDecoder(resolved, model.llama(), kLlamaStyle, shape.roots);
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
