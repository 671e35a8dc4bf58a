// A corpus as token ids in a mapped file, with the vocabulary that made them; made once, by the first process
// that needs it.
//
// All files are in one folder of the cache, named by the digest of the texts, the tokenizer's settings (or,
// for a published vocabulary, its content), the split and the format: tokens.bin, and for a vocabulary
// trained here its vocab.json and merges.txt (Hugging Face's form). tokens.bin is put in place last and has
// checksums of itself and of the vocabulary: an incomplete folder after a crash, or a damaged file, is made
// again. Processes that need the same folder at the same time wait on its lock file while the first one makes it.
//
// tokens.bin, little-endian: a header (see token_cache.cc), the ids of all texts one after the other (uint16,
// or uint32 for vocabularies over 65,536), padding to 8 bytes, where each text begins (uint64, one entry more
// than there are texts).
#ifndef INLIER_CORE_TEXT_TOKEN_CACHE_H_
#define INLIER_CORE_TEXT_TOKEN_CACHE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/files/mapped_file.h"
#include "core/text/corpus.h"
#include "core/text/tokenizer_source.h"

namespace inlier {

// Which texts are not for training.
enum class ValidationTexts { kLast, kByHash, kBlocks };  // v1::ValidationChoice; base/data/text_split.h.

struct TokenCacheSettings {
  TokenizerSource tokenizer;
  double validation_fraction = 0;  // Their share; at least one text on each side.
  ValidationTexts validation = ValidationTexts::kLast;
};

// Texts of another source than a corpus, those for training first. They must live only while the cache is opened.
struct PartedTexts {
  std::vector<std::string_view> texts;
  uint64_t train_texts = 0;  // The input of a trained vocabulary.
};

class TokenCache {
 public:
  // Opens the cache of a corpus; makes it when it is missing or damaged. Waits while another process makes
  // it. InvalidArgument: fewer than two texts, by hash all of them equal, or an error of Corpus::Open.
  // Unavailable: the file changed meanwhile.
  static absl::StatusOr<TokenCache> OpenOrMake(const CorpusSource& source, const TokenCacheSettings& settings,
                                               const TextOpenOptions& options);

  // The same for texts in memory; they may be empty or equal. The folder is named by the texts, their split
  // and the tokenizer.
  static absl::StatusOr<TokenCache> OpenOrMake(const PartedTexts& texts, const TokenizerSource& tokenizer,
                                               const TextOpenOptions& options);

  const Tokenizer& tokenizer() const { return *tokenizer_; }

  // Names the folder and its content.
  const std::string& digest() const { return digest_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Text i has the ids [text_begins()[i], text_begins()[i + 1]), without special tokens. The first
  // train_texts() are for training.
  std::span<const uint64_t> text_begins() const { return text_begins_; }
  int64_t TextLength(uint64_t text) const {
    return static_cast<int64_t>(text_begins_[text + 1] - text_begins_[text]);
  }
  uint64_t texts() const { return text_begins_.size() - 1; }
  uint64_t train_texts() const { return train_texts_; }
  uint64_t tokens() const { return tokens_; }

  // Copies ids.size() ids from `begin` on. REQUIRES: they exist.
  void Read(uint64_t begin, std::span<int64_t> ids) const;

 private:
  TokenCache() = default;
  // Opens the folder of `digest`; makes it with `make` when it is missing or damaged.
  using Make = std::function<absl::Status(const std::filesystem::path& folder)>;
  static absl::StatusOr<TokenCache> OpenOrMakeFolder(const std::string& digest,
                                                     const TokenizerSource& tokenizer,
                                                     const TextOpenOptions& options, const Make& make);
  // NotFound when there is no complete cache, DataLoss when it is damaged.
  static absl::StatusOr<TokenCache> OpenExisting(const std::filesystem::path& folder,
                                                 const std::string& digest, const TokenizerSource& tokenizer);

  std::string digest_;
  std::filesystem::path folder_;
  MappedFile file_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  uint32_t id_bytes_ = 0;
  uint64_t train_texts_ = 0;
  uint64_t tokens_ = 0;
  const char* ids_ = nullptr;
  std::span<const uint64_t> text_begins_;
};

// The number of training texts: all but the last validation_fraction of them, with at least one on each side.
// REQUIRES: texts >= 2.
uint64_t TrainTexts(uint64_t texts, double validation_fraction);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKEN_CACHE_H_
