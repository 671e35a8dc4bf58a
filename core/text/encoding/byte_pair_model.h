// The model BPE of a tokenizer.json: a word's characters are its first pieces, which are then merged. In a byte-level
// vocabulary the characters spell bytes (byte_alphabet.h).
#ifndef INLIER_CORE_TEXT_ENCODING_BYTE_PAIR_MODEL_H_
#define INLIER_CORE_TEXT_ENCODING_BYTE_PAIR_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/text/encoding/merge_pieces.h"

namespace inlier {

using VocabularyIds = absl::flat_hash_map<std::string, uint32_t>;

struct BytePairSettings {
  std::vector<std::pair<std::string, std::string>> merges;
  std::optional<std::string> unknown;  // Without one, a character that is no token is left out.
  std::string prefix, suffix;          // Of pieces inside a word, and of its last one.
  bool fuse_unknown = false;           // Neighbours that are no tokens are one.
  bool byte_fallback = false;          // "<0x0A>" and the like for the bytes of a character that is no token.
  bool ignore_merges = false;          // A word that is a token is that token.
};

class BytePairModel {
 public:
  // InvalidArgument: a merge whose parts or result are not tokens, or a second time; an unknown token that is not one.
  static absl::StatusOr<BytePairModel> Make(VocabularyIds ids, const BytePairSettings& settings);

  void EncodeWord(std::string_view word, std::vector<uint32_t>* ids) const;
  const VocabularyIds& ids() const { return ids_; }

 private:
  std::optional<uint32_t> Find(std::string_view token) const {
    const auto found = ids_.find(absl::string_view(token.data(), token.size()));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool AppendBytes(std::string_view character, std::vector<uint32_t>* pieces) const;

  VocabularyIds ids_;
  MergeTable table_;
  std::optional<uint32_t> unknown_;
  std::string prefix_, suffix_;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_BYTE_PAIR_MODEL_H_
