// Properties that the kinds of DataSpec have in common, for code that treats them alike.
#ifndef INLIER_SPEC_TRIAL_DATA_KIND_H_
#define INLIER_SPEC_TRIAL_DATA_KIND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Data that are sequences of tokens: text, classification, instructions, backcopy.
struct TokenizedData {
  std::string path;                         // In the spec, for example "data.text".
  const v1::TokenizerSpec* tokenizer;       // Lives as long as the spec; null where tokens are drawn.
  std::optional<std::uint32_t> vocab_size;  // Tokens; nullopt where only the worker can count them.
  std::string vocab_field;                  // The field that decides it: "data.backcopy.vocab_size".
  std::uint32_t sequence_length;            // T.
  std::optional<v1::Objective> objective;   // The objective of its tokens, where the data decides it.
};

// nullopt for images, and where no kind is given.
std::optional<TokenizedData> TokenizedDataOf(const v1::DataSpec& data);

// Sets the texts kept for validation, of the data and of the pre-training of a vocabulary, to `value` where they are not
// given; nullopt for their defaults. (Values that are not their fields' `was` must be written to be in fingerprints.)
void FillValidation(v1::DataSpec* data, std::optional<v1::ValidationChoice> value);

// T, the tokens of a training sequence: the data's sequence_length, or the patches and the class token of an image,
// without registers; 0 where it is not known.
std::uint32_t SequenceLength(const v1::TrialSpec& spec);

// A data set that this build knows by name; nullopt for others.
struct KnownImages {
  std::uint32_t image_size;
  std::uint32_t channels;
  std::uint32_t classes;
};
std::optional<KnownImages> FindKnownImages(const v1::ImageDataSpec& images);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_DATA_KIND_H_
