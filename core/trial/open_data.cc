#include "core/trial/open_data.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "core/images/image_dataset.h"
#include "core/labelled/classification_dataset.h"
#include "core/labelled/instruction_dataset.h"
#include "core/models/make_model.h"
#include "core/synthetic/backcopy_dataset.h"
#include "core/text/text_dataset.h"
#include "core/trial/open_questions.h"
#include "spec/trial/architecture.h"

namespace inlier {
namespace {

absl::Status CheckVocabulary(const v1::TrialSpec& spec, std::int64_t tokens) {
  std::int64_t rows = tokens;
  VisitArchitecture(spec.model(), [&rows](std::string_view, const auto& model) {
    if constexpr (requires { model.vocab_size(); }) rows = model.vocab_size();
  });
  if (rows >= tokens) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("model.", std::string(ArchitectureName(spec.model())), ".vocab_size: ", rows,
                   " rows are too few for the tokenizer's ", tokens, " tokens; give at least ", tokens,
                   ", or leave it out where the tokenizer's size is known"));
}

absl::StatusOr<TrialData> WithModel(std::unique_ptr<Dataset> dataset, const v1::TrialSpec& spec,
                                    const ModelShape& shape) {
  TrialData data{.dataset = std::move(dataset)};
  ASSIGN_OR_RETURN(data.model, MakeModel(spec, shape));
  return data;
}

absl::StatusOr<TrialData> OpenText(const v1::TrialSpec& spec, const TextOpenOptions& options,
                                   bool for_evaluation) {
  const v1::TextDataSpec& text = spec.data().text();
  ASSIGN_OR_RETURN(std::unique_ptr<TextDataset> dataset, TextDataset::Open(text, text.objective(), options));
  RETURN_IF_ERROR(CheckVocabulary(spec, dataset->vocab_size()));
  const TextDataset* evaluated = dataset.get();
  ASSIGN_OR_RETURN(TrialData data,
                   WithModel(std::move(dataset), spec,
                             {.roots = options.roots, .document_start = evaluated->special_tokens().begin}));
  if (for_evaluation) {
    std::unique_ptr<TextDataset> other;
    const v1::EvaluationSpec& evaluation = spec.evaluation();
    if (evaluation.has_sequence_length() && evaluation.sequence_length() != evaluated->sequence_length()) {
      ASSIGN_OR_RETURN(other, evaluated->WithSequenceLength(evaluation.sequence_length()));
      evaluated = other.get();
    }
    data.baseline.unigram_perplexity = evaluated->ComputeUnigramPerplexity();
    data.evaluation = std::move(other);
  }
  return data;
}

absl::StatusOr<TrialData> OpenImages(const v1::TrialSpec& spec, const TextOpenOptions& options) {
  const v1::VitSpec& vit = spec.model().vit();
  ImageOptions of_images;
  of_images.data_dir = options.data_dir;
  of_images.roots = options.roots;
  of_images.image_size = vit.image_size();
  of_images.channels = vit.channels();
  of_images.threads = options.threads;
  of_images.progress = options.progress;
  of_images.classes = vit.classes();
  ASSIGN_OR_RETURN(std::unique_ptr<ImageDataset> images, ImageDataset::Open(spec.data().images(), of_images));
  if (vit.classes() < images->classes()) {
    return absl::InvalidArgumentError(absl::StrCat("model.vit.classes: ", vit.classes(),
                                                   " are too few for the images' ", images->classes(),
                                                   " classes; give at least ", images->classes()));
  }
  return WithModel(std::move(images), spec, {.roots = options.roots});
}

absl::StatusOr<TrialData> OpenClassification(const v1::TrialSpec& spec, const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<ClassificationDataset> rows,
                   ClassificationDataset::Open(spec.data().classification(), options));
  RETURN_IF_ERROR(CheckVocabulary(spec, rows->vocab_size()));
  const std::int64_t classes = rows->classes();
  const double majority_share = rows->majority_share();
  ASSIGN_OR_RETURN(TrialData data,
                   WithModel(std::move(rows), spec, {.classes = classes, .roots = options.roots}));
  if (spec.data().classification().target() == v1::ClassificationDataSpec::CLASS)
    data.baseline.majority_accuracy = majority_share;
  return data;
}

absl::StatusOr<TrialData> OpenInstructions(const v1::TrialSpec& spec, const TextOpenOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<InstructionDataset> pairs,
                   InstructionDataset::Open(spec.data().instructions(), options));
  RETURN_IF_ERROR(CheckVocabulary(spec, pairs->vocab_size()));
  if (pairs->left_out() > 0) {
    spdlog::warn(
        "instructions_left_out pairs={} of={} reason=\"the prompt alone fills {} tokens\"", pairs->left_out(),
        pairs->left_out() + pairs->train_examples() + pairs->validation_examples(), pairs->sequence_length());
  }
  return WithModel(std::move(pairs), spec, {.roots = options.roots});
}

absl::StatusOr<TrialData> OpenBackcopy(const v1::TrialSpec& spec, const TextOpenOptions& options,
                                       bool for_evaluation) {
  auto sequences = std::make_unique<BackcopyDataset>(spec.data().backcopy());
  const BackcopyDataset& opened = *sequences;
  ASSIGN_OR_RETURN(TrialData data, WithModel(std::move(sequences), spec, {.roots = options.roots}));
  if (for_evaluation) data.baseline.unigram_perplexity = opened.ComputeUnigramPerplexity();
  return data;
}

absl::StatusOr<TrialData> OpenDataOfKind(const v1::TrialSpec& resolved, const TextOpenOptions& options,
                                         bool for_evaluation) {
  switch (resolved.data().kind_case()) {
    case v1::DataSpec::kText:
      return OpenText(resolved, options, for_evaluation);
    case v1::DataSpec::kImages:
      return OpenImages(resolved, options);
    case v1::DataSpec::kClassification:
      return OpenClassification(resolved, options);
    case v1::DataSpec::kInstructions:
      return OpenInstructions(resolved, options);
    case v1::DataSpec::kBackcopy:
      return OpenBackcopy(resolved, options, for_evaluation);
    case v1::DataSpec::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "data: is empty; give one of text, images, classification, instructions and backcopy");
}

}  // namespace

absl::StatusOr<TrialData> OpenTrialData(const v1::TrialSpec& resolved, const TextOpenOptions& options,
                                        bool for_evaluation) {
  ASSIGN_OR_RETURN(TrialData data, OpenDataOfKind(resolved, options, for_evaluation));
  if (!for_evaluation || !resolved.evaluation().has_multiple_choice()) return data;
  ASSIGN_OR_RETURN(
      data.questions,
      OpenQuestions(resolved.evaluation().multiple_choice().path(), *TokenizerOf(*data.dataset),
                    dynamic_cast<const LanguageModel&>(*data.model).max_positions(), options.roots));
  return data;
}

const Tokenizer* TokenizerOf(const Dataset& data) {
  if (const auto* text = dynamic_cast<const TextDataset*>(&data)) return &text->tokenizer();
  if (const auto* rows = dynamic_cast<const ClassificationDataset*>(&data)) return &rows->tokenizer();
  if (const auto* pairs = dynamic_cast<const InstructionDataset*>(&data)) return &pairs->tokenizer();
  return nullptr;
}

std::string VocabularyDigestOf(const Dataset& data) {
  const Tokenizer* tokenizer = TokenizerOf(data);
  return tokenizer == nullptr ? std::string() : tokenizer->Digest();
}

std::vector<std::string> ClassNamesOf(const Dataset& data) {
  if (const auto* rows = dynamic_cast<const ClassificationDataset*>(&data)) return rows->class_names();
  if (const auto* images = dynamic_cast<const ImageDataset*>(&data)) return images->class_names();
  return {};
}

}  // namespace inlier
