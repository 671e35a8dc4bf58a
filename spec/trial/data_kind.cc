#include "spec/trial/data_kind.h"

#include "spec/trial/vocabularies.h"

namespace inlier {

namespace {

TokenizedData Tokenized(const std::string& path, const v1::TokenizerSpec& tokenizer,
                        std::uint32_t sequence_length, std::optional<v1::Objective> objective) {
  return {path,
          &tokenizer,
          VocabularySize(tokenizer),
          path + ".tokenizer." + VocabularyField(tokenizer),
          sequence_length,
          objective};
}

}  // namespace

std::optional<TokenizedData> TokenizedDataOf(const v1::DataSpec& data) {
  switch (data.kind_case()) {
    case v1::DataSpec::kText: {
      const v1::TextDataSpec& text = data.text();
      std::optional<v1::Objective> objective;
      if (text.has_objective()) objective = text.objective();
      return Tokenized("data.text", text.tokenizer(), text.sequence_length(), objective);
    }
    case v1::DataSpec::kClassification:
      return Tokenized("data.classification", data.classification().tokenizer(),
                       data.classification().sequence_length(), v1::MLM);
    case v1::DataSpec::kInstructions:
      return Tokenized("data.instructions", data.instructions().tokenizer(),
                       data.instructions().sequence_length(), v1::CLM);
    case v1::DataSpec::kBackcopy:
      return TokenizedData{"data.backcopy",
                           nullptr,
                           data.backcopy().vocab_size(),
                           "data.backcopy.vocab_size",
                           data.backcopy().sequence_length(),
                           v1::CLM};
    case v1::DataSpec::kImages:
    case v1::DataSpec::KIND_NOT_SET:
      break;
  }
  return std::nullopt;
}

std::uint32_t SequenceLength(const v1::TrialSpec& spec) {
  if (const std::optional<TokenizedData> data = TokenizedDataOf(spec.data())) return data->sequence_length;
  const v1::VitSpec& vit = spec.model().vit();
  if (vit.patch_size() == 0) return 0;
  const std::uint32_t side = vit.image_size() / vit.patch_size();
  return side * side + 1;
}

std::optional<KnownImages> FindKnownImages(const v1::ImageDataSpec& images) {
  if (images.dataset() == "fashion-mnist") return KnownImages{.image_size = 28, .channels = 1, .classes = 10};
  return std::nullopt;
}

}  // namespace inlier
