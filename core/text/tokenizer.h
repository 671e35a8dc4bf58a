// From text to ids: a vocabulary, its encoder, and the special tokens that it has for a model.
//
// All are made from a definition: the byte-level BPE that is trained on the corpus, a published vocabulary, or the
// tokenizer of a Hugging Face folder (tokenizer_folder.h).
#ifndef INLIER_CORE_TEXT_TOKENIZER_H_
#define INLIER_CORE_TEXT_TOKENIZER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/text/special_tokens.h"
#include "core/text/tokenizer_definition.h"

namespace inlier {

// Each thread needs its own. Its tokenizer must outlive it.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // Appends the ids of one text, without the special tokens around it.
  virtual void Encode(std::string_view text, std::vector<uint32_t>* ids) = 0;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // One more than the largest id.
  virtual uint32_t size() const = 0;
  virtual std::unique_ptr<TextEncoder> MakeEncoder() const = 0;

  // The text of ids for display, special tokens spelt out. REQUIRES: every id < size().
  virtual std::string Decode(std::span<const uint32_t> ids) const = 0;

  // The bytes that a token stands for in a text, decoded by itself: 0 for a special token. REQUIRES: id < size(), and
  // causal_tokens().
  virtual int64_t TextBytes(uint32_t id) const = 0;

  // The tokens that transformers' tokenizer of its files puts around a text by itself; of a bare vocabulary, or one trained
  // here, that of an export.
  virtual TokenizerDefinition::Around around() const = 0;

  // The special tokens for MLM and CLM; nothing where the vocabulary has none.
  virtual std::optional<SpecialTokens> masked_tokens() const = 0;
  virtual std::optional<SpecialTokens> causal_tokens() const = 0;

  // Its files in Hugging Face's form, name -> content: vocab.txt, vocab.json and merges.txt, or those of the folder that
  // it was read from.
  virtual const std::map<std::string, std::string>& Files() const = 0;

  // SHA-256 of everything that decides the ids of a text: two of the same digest give the same ids.
  virtual std::string Digest() const = 0;
};

// InvalidArgument names the file, the key and what of it is not known.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(TokenizerDefinition definition);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_H_
