// The source of a tokenizer: trained on the corpus itself, or the files of a published vocabulary.
#ifndef INLIER_CORE_TEXT_TOKENIZER_SOURCE_H_
#define INLIER_CORE_TEXT_TOKENIZER_SOURCE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/text/tokenizer.h"

namespace inlier {

// A byte-level BPE trained on the training part of the corpus; its files are in the token cache.
struct TrainedBytePair {
  uint32_t vocab_size = 0;  // At least kSmallestVocabulary.
};
// With `folder`, the tokenizer is what transformers makes of all its files (tokenizer_folder.h).
struct WordPieceFile {
  std::filesystem::path vocab_txt;
  DataRoots roots;
  std::filesystem::path folder;
};
struct Gpt2Files {
  std::filesystem::path vocab_json;
  std::filesystem::path merges_txt;
  DataRoots roots;
  std::filesystem::path folder;
};
// A vocabulary that was trained here on other text: vocab.json and merges.txt of a folder of the token cache.
struct OwnBytePairFiles {
  std::filesystem::path folder;
};
using TokenizerSource = std::variant<TrainedBytePair, WordPieceFile, Gpt2Files, OwnBytePairFiles>;

// The files that `vocab` names: a folder data_dir/vocabularies/<vocab>, or an absolute path. WordPiece: a
// vocab.txt or a folder with one. GPT-2: a folder with vocab.json and merges.txt, or a file *vocab.json next
// to *merges.txt. NotFound lists the existing vocabularies and the remedy; the messages begin with `field`,
// the spec's path of `vocab`. InvalidArgument where it is outside `roots`, where the files must be too.
absl::StatusOr<WordPieceFile> FindWordPiece(const std::string& vocab, const std::filesystem::path& data_dir,
                                            const std::string& field, const DataRoots& roots = {});
absl::StatusOr<Gpt2Files> FindGpt2(const std::string& vocab, const std::filesystem::path& data_dir,
                                   const std::string& field, const DataRoots& roots = {});

// The files that decide the ids; those of a trained vocabulary are in `cache_folder`.
std::vector<std::filesystem::path> FilesOf(const TokenizerSource& source,
                                           const std::filesystem::path& cache_folder);

// Identifies the tokenizer, of which (with the text) the ids are a function: "byte_pair 2000", or the kind
// and the digest of the files' content.
absl::StatusOr<std::string> KeyOf(const TokenizerSource& source);

// SHA-256 of the vocabulary's files; those of a trained one are in `cache_folder`.
absl::StatusOr<std::string> VocabularyDigest(const TokenizerSource& source,
                                             const std::filesystem::path& cache_folder);

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const TokenizerSource& source,
                                                         const std::filesystem::path& cache_folder);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_SOURCE_H_
