#include "spec/trial/data_kind.h"

#include <utility>

namespace inlier {
namespace {

// Tokens of the vocabulary, where the spec decides them, and the field that does.
std::pair<std::optional<std::uint32_t>, std::string> VocabularyOf(const v1::TokenizerSpec& tokenizer) {
  std::optional<std::uint32_t> size;
  if (tokenizer.has_wordpiece()) {
    if (tokenizer.wordpiece().vocab() == "bert-base-uncased") size = 30522;
    return {size, "wordpiece.vocab"};
  }
  if (tokenizer.has_gpt2()) {
    if (tokenizer.gpt2().vocab() == "gpt2") size = 50257;
    return {size, "gpt2.vocab"};
  }
  if (tokenizer.has_byte_pair()) size = tokenizer.byte_pair().vocab_size();
  return {size, "byte_pair.vocab_size"};
}

TokenizedData Tokenized(const std::string& path, const v1::TokenizerSpec& tokenizer,
                        std::uint32_t sequence_length, std::optional<v1::Objective> objective) {
  const auto [size, field] = VocabularyOf(tokenizer);
  return {path, &tokenizer, size, path + ".tokenizer." + field, sequence_length, objective};
}

template <typename Data>
void FillValidationOf(Data* data, std::optional<v1::ValidationChoice> value) {
  if constexpr (requires { data->has_validation(); }) {
    if (!data->has_validation()) data->set_validation(value.value_or(data->validation()));
  }
  const v1::BytePairSpec& byte_pair = data->tokenizer().byte_pair();
  if ((byte_pair.has_corpus() || byte_pair.has_path()) && !byte_pair.has_corpus_validation())
    data->mutable_tokenizer()->mutable_byte_pair()->set_corpus_validation(
        value.value_or(v1::TextDataSpec::default_instance().validation()));
}

}  // namespace

void FillValidation(v1::DataSpec* data, std::optional<v1::ValidationChoice> value) {
  if (data->has_text()) FillValidationOf(data->mutable_text(), value);
  if (data->has_instructions()) FillValidationOf(data->mutable_instructions(), value);
  if (data->has_classification()) FillValidationOf(data->mutable_classification(), value);
}

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
