// BERT's WordPiece on a published, lower-cased vocabulary (vocab.txt, one token a line, its id the line's
// number): the same ids and the same texts as Hugging Face's tokenizer of bert-base-uncased.
//
// Text is cut into words (bert_words.h); a word is spelt by the longest token at its start, then by the
// longest "##" token at the start of the rest, and so on. A word that cannot be spelt so, or has more than
// 100 characters, is one [UNK].
#ifndef INLIER_CORE_TEXT_WORD_PIECE_H_
#define INLIER_CORE_TEXT_WORD_PIECE_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/data/data_roots.h"

namespace inlier {

// As a tokenizer.json has them; the defaults are those of bert-base-uncased.
struct WordPieceSettings {
  std::string unknown = "[UNK]";
  std::string prefix = "##";  // Of tokens inside a word.
  size_t max_characters = 100;
};

class WordPieceVocabulary {
 public:
  // Reads vocab.txt. InvalidArgument names file and line: a token twice, an empty line, bytes that are not
  // UTF-8, or no [PAD], [UNK], [CLS], [SEP] or [MASK].
  static absl::StatusOr<WordPieceVocabulary> Load(const std::filesystem::path& vocab_txt,
                                                  const DataRoots& roots = {});

  // Other ids and settings, without special tokens. InvalidArgument: the unknown token is not one of them.
  static absl::StatusOr<WordPieceVocabulary> Make(const absl::flat_hash_map<std::string, uint32_t>& ids,
                                                  const WordPieceSettings& settings);

  uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
  uint32_t unknown_id() const { return special_ids_[1]; }
  uint32_t cls_id() const { return special_ids_[2]; }
  uint32_t sep_id() const { return special_ids_[3]; }
  // [PAD] [UNK] [CLS] [SEP] [MASK].
  const std::array<uint32_t, 5>& special_ids() const { return special_ids_; }

  // As in the file, "##" included. REQUIRES: id < size().
  std::string_view Spelling(uint32_t id) const { return tokens_[id]; }

  // Appends the ids of a word of BertWords.
  void EncodeWord(std::string_view word, std::vector<uint32_t>* ids) const;

 private:
  WordPieceVocabulary() = default;
  absl::Status Index(const std::filesystem::path& vocab_txt);
  void AddPiece(const std::string& token, uint32_t id, const std::string& prefix);

  // By their text: tokens at the start of a word, and those inside one without their "##".
  using Pieces = absl::flat_hash_map<std::string, uint32_t>;

  std::vector<std::string> tokens_;
  Pieces beginnings_;
  Pieces continuations_;
  size_t longest_bytes_ = 0;
  size_t max_characters_ = WordPieceSettings().max_characters;
  std::array<uint32_t, 5> special_ids_ = {};
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_WORD_PIECE_H_
