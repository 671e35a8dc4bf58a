// From text to ids: a vocabulary, its encoder, and the special tokens that it has for a model.
//
// Three of them: the byte-level BPE that is trained on the corpus, GPT-2's byte-level BPE, BERT's WordPiece.
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
#include "core/text/byte_pair.h"
#include "core/text/special_tokens.h"
#include "core/text/word_piece.h"

namespace inlier {

// Thread safety: none; one a thread. Its tokenizer must outlive it.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  // Appends the ids of one text, without the special tokens around it.
  virtual void Encode(std::string_view text, std::vector<uint32_t>* ids) = 0;
};

// Thread safety: immutable.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Number of ids: one more than the largest.
  virtual uint32_t size() const = 0;
  virtual std::unique_ptr<TextEncoder> MakeEncoder() const = 0;

  // The text of ids for display, special tokens spelt out. REQUIRES: every id < size().
  virtual std::string Decode(std::span<const uint32_t> ids) const = 0;

  // The special tokens for MLM and CLM; nothing where the vocabulary has none.
  virtual std::optional<SpecialTokens> masked_tokens() const = 0;
  virtual std::optional<SpecialTokens> causal_tokens() const = 0;

  // Its vocabulary in Hugging Face's form, name -> content: vocab.txt, or vocab.json and merges.txt.
  virtual std::map<std::string, std::string> Files() const = 0;
};

// True when its first tokens are kOwnSpecialTokens: it was trained here.
bool IsOwnVocabulary(const BytePairVocabulary& vocabulary);

// REQUIRES: IsOwnVocabulary. A special token spelt in a text is ordinary
// text.
std::unique_ptr<Tokenizer> MakeOwnTokenizer(BytePairVocabulary vocabulary);

// As Hugging Face's for GPT-2: special tokens spelt in a text are those tokens. <|endoftext|> separates texts
// and pads; in OPT's own vocabulary, recognised by its </s> and <pad>, those two do. InvalidArgument when the
// vocabulary has neither.
absl::StatusOr<std::unique_ptr<Tokenizer>> MakeGpt2Tokenizer(BytePairVocabulary vocabulary);

// As Hugging Face's for bert-base-uncased: [MASK] and the like spelt in a text are those tokens.
std::unique_ptr<Tokenizer> MakeWordPieceTokenizer(WordPieceVocabulary vocabulary);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_H_
