#include "core/trial/export/export_checkpoint.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/data/checked_files.h"
#include "base/status.h"
#include "core/hugging_face/export_folder.h"
#include "core/hugging_face/weights.h"
#include "core/models/bert_classifier.h"
#include "core/models/language_model.h"
#include "core/models/make_model.h"
#include "core/quant/quantization_file.h"
#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"
#include "core/train/evaluator.h"
#include "core/trial/data_digest.h"
#include "core/trial/export/compressed_export.h"
#include "core/trial/export/processor_files.h"
#include "core/trial/open_data.h"
#include "core/trial/runtime.h"
#include "spec/hugging_face/own_parts.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

FileContents ProcessorOf(const v1::TrialSpec& spec, const TrialData& data) {
  const Tokenizer* tokenizer = TokenizerOf(*data.dataset);
  if (spec.model().has_vit()) return ImageProcessorFiles(spec);
  if (tokenizer == nullptr) return {};
  const auto* language = dynamic_cast<const LanguageModel*>(data.model.get());
  const std::int64_t positions =
      language == nullptr ? data.dataset->sequence_length() : language->max_positions();
  return TokenizerFiles(*tokenizer, data.model->causal(), positions);
}

ExportedData ExportedDataOf(const TrialData& data) {
  ExportedData exported{.class_names = ClassNamesOf(*data.dataset)};
  const Tokenizer* tokenizer = TokenizerOf(*data.dataset);
  if (tokenizer == nullptr) return exported;
  const bool causal = data.model->causal();
  const std::optional<SpecialTokens> tokens =
      causal ? tokenizer->causal_tokens() : tokenizer->masked_tokens();
  if (tokens) exported.pad = tokens->pad;
  if (tokens && causal) exported.separator = tokens->begin;
  return exported;
}

// The quantization of the trial's evaluation; the scales of weights and linears appear with the first batch.
absl::StatusOr<std::unique_ptr<Quantization>> FrozenQuantization(const v1::TrialSpec& spec,
                                                                 const TrialData& data, c10::Device device) {
  TrialSink sink;
  ASSIGN_OR_RETURN(std::unique_ptr<Quantization> quantization,
                   CalibrateQuantization(*data.model, data.evaluated(), spec, device, sink, nullptr));
  const c10::InferenceMode inference;
  const Batch batch =
      data.evaluated().ValidationBatch(0, spec.evaluation().batch_size(), spec.evaluation().mask_seed());
  data.model->Logits(InputOf(batch, device), quantization.get());
  return quantization;
}

// The data that the checkpoint was trained on, with its model.
absl::StatusOr<TrialData> OpenDataOf(const v1::AttemptSpec& attempt, const v1::TrialSpec& spec,
                                     const Checkpoint& checkpoint, bool for_evaluation) {
  TextOpenOptions options = FoldersOf(attempt);
  options.threads = at::get_num_threads();
  absl::StatusOr<TrialData> data = OpenTrialData(spec, options, for_evaluation);
  const absl::Status status =
      data.ok() ? checkpoint.CheckMatches(spec, data->dataset->dataset_digest()) : data.status();
  if (status.ok()) return data;
  return absl::Status(
      status.code(),
      absl::StrCat(
          std::string(status.message()),
          "; the tokenizer and the scales of a quantization come from the training's data: give their "
          "folder with --data-dir, or export the float model alone with --weights-only"));
}

std::string AutoClass(const v1::TrialSpec& spec) {
  if (spec.model().has_vit()) return "AutoModelForImageClassification";
  if (!spec.model().has_bert()) return "AutoModelForCausalLM";
  return spec.data().has_classification() ? "AutoModelForSequenceClassification" : "AutoModelForMaskedLM";
}

}  // namespace

absl::StatusOr<Exported> ExportCheckpoint(const ExportRequest& request) {
  const v1::AttemptSpec& attempt = request.attempt;
  RETURN_IF_ERROR(ExportFolder::Check(request.folder, request.replace));
  RETURN_IF_ERROR(CheckNamedContent(attempt.checkpoint()));
  ASSIGN_OR_RETURN(const Checkpoint opened, Checkpoint::Open(attempt.checkpoint()));
  v1::TrialSpec spec = opened.info().spec;
  if (attempt.has_spec()) {
    ASSIGN_OR_RETURN(spec, ResolveAndValidate(attempt.spec()));
  }
  if (!request.processor || !attempt.has_spec()) spec.clear_quantization();
  RETURN_IF_ERROR(CheckSameScripts(spec, opened, FoldersOf(attempt)));
  if (request.compressed) RETURN_IF_ERROR(CheckCompressedTensors(spec));
  const bool quantized = spec.has_quantization(), scales = quantized && !request.compressed;

  ExportOptions options{.replace = request.replace, .quantized = scales, .files = {}};
  options.data.class_names = opened.info().origin.classes;
  std::shared_ptr<Model> model;
  std::unique_ptr<Quantization> quantization;
  if (request.processor) {
    ASSIGN_OR_RETURN(const TrialData data, OpenDataOf(attempt, spec, opened, quantized));
    RETURN_IF_ERROR(opened.LoadWeights(*data.model));
    model = data.model;
    options.files = ProcessorOf(spec, data);
    options.data = ExportedDataOf(data);
    if (quantized) {
      ASSIGN_OR_RETURN(const c10::Device device,
                       ParseDevice(attempt.has_device() ? attempt.device() : "cpu"));
      model->to(device);
      ASSIGN_OR_RETURN(quantization, FrozenQuantization(spec, data, device));
      model->to(c10::kCPU);
      if (scales) {
        ASSIGN_OR_RETURN(options.files[kQuantizationFile],
                         QuantizationFile(spec.quantization(), quantization->Table()));
      }
    }
  } else {
    // The number of classes is in the data, which need not be here, and in the weights.
    const std::vector<std::int64_t> classifier = opened.WeightShape(kClassifierWeight);
    const ModelShape shape{.classes = classifier.empty() ? 0 : classifier[0],
                           .roots = RootsOf(attempt),
                           .document_start = 0};  // It is not run.
    ASSIGN_OR_RETURN(model, MakeModel(spec, shape));
    RETURN_IF_ERROR(opened.LoadWeights(*model));
  }
  if (request.compressed) {
    options.quantization_config = CompressedTensorsConfig(spec.quantization());
    options.compress = [&](TensorMap* tensors) {
      CompressWeights(spec.quantization(), *quantization, tensors);
    };
  }
  RETURN_IF_ERROR(ExportHuggingFaceModel(spec, *model, request.folder, options));
  return Exported{
      .auto_class = AutoClass(spec), .own_code = scales || HasOwnParts(spec), .quantized = scales};
}

}  // namespace inlier
