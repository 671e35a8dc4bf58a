// Byte-level byte-pair encoding in Hugging Face's file form (vocab.json and merges.txt), as GPT-2's.
//
// Text is cut into words (pre_tokenizer.h); the bytes of a word are its first tokens, and the neighbours with
// the lowest rank in the list of merges are joined until no pair is listed. Any bytes can be encoded, and
// decoding gives them back.
#ifndef INLIER_CORE_TEXT_BYTE_PAIR_H_
#define INLIER_CORE_TEXT_BYTE_PAIR_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"

namespace inlier {

// A vocabulary: the bytes of every token, the merges in their order, and which tokens are special.
class BytePairVocabulary {
 public:
  using Merge = std::pair<uint32_t, uint32_t>;  // Ids of the two tokens that are joined.

  // Ids: special tokens first, then the 256 bytes in their order, then one token a merge. A merge that spells
  // an earlier token is InvalidArgument.
  static absl::StatusOr<BytePairVocabulary> FromMerges(const std::vector<std::string>& special_tokens,
                                                       const std::vector<Merge>& merges);

  // Reads the two files. Tokens of vocab.json that neither are a byte nor come from a merge are special.
  // Errors name the file and, where there is one, the line.
  static absl::StatusOr<BytePairVocabulary> Load(const std::filesystem::path& vocab_json,
                                                 const std::filesystem::path& merges_txt,
                                                 const DataRoots& roots = {});

  // The contents of the two files.
  std::string VocabJson() const;
  std::string MergesTxt() const;

  // One more than the largest id.
  uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
  const std::vector<Merge>& merges() const { return merges_; }
  // Special tokens in the order of their ids.
  const std::vector<uint32_t>& special_ids() const { return special_ids_; }
  bool IsSpecial(uint32_t id) const;

  std::optional<uint32_t> SpecialId(std::string_view token) const;

  // The bytes of a token; a special token is spelt out. REQUIRES: id < size().
  std::string_view TokenBytes(uint32_t id) const { return tokens_[id]; }

 private:
  std::vector<std::string> tokens_;
  std::vector<uint32_t> special_ids_;
  std::vector<Merge> merges_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_BYTE_PAIR_H_
