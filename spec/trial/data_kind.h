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
  std::optional<std::uint32_t> vocab_size;  // Tokens; nothing where only the worker can count them.
  std::string vocab_field;                  // The field that decides it: "data.backcopy.vocab_size".
  std::uint32_t sequence_length;            // T.
  std::optional<v1::Objective> objective;   // The objective of its tokens, where the data decides it.
};

// Nothing for images, and where no kind is given.
std::optional<TokenizedData> TokenizedDataOf(const v1::DataSpec& data);

// T, the tokens of a training sequence: the data's sequence_length, or the patches and the class token of an
// image, without registers; 0 where it is not known.
std::uint32_t SequenceLength(const v1::TrialSpec& spec);

// Classes of a data set that this build knows by name; nothing for others.
struct KnownImages {
  std::uint32_t image_size;
  std::uint32_t channels;
  std::uint32_t classes;
};
std::optional<KnownImages> FindKnownImages(const v1::ImageDataSpec& images);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_DATA_KIND_H_
