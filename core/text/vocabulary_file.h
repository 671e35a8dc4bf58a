// A file of a published vocabulary: vocab.txt, vocab.json or merges.txt.
#ifndef INLIER_CORE_TEXT_VOCABULARY_FILE_H_
#define INLIER_CORE_TEXT_VOCABULARY_FILE_H_

#include <cstddef>
#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_roots.h"
#include "base/files/mapped_file.h"
#include "base/status.h"

namespace inlier {

// The largest published ones have 256,000 tokens in 5 MB, which take several times that size in memory.
inline constexpr std::size_t kVocabularyBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kVocabularyTokensMax = std::size_t{1} << 20;

// Errors as RegularFile::Open; InvalidArgument for a file that is larger than that.
inline absl::StatusOr<MappedFile> OpenVocabularyFile(const std::filesystem::path& path,
                                                     const DataRoots& roots) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, roots));
  if (file.bytes().size() <= kVocabularyBytesMax) return file;
  return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", file.bytes().size(),
                                                 " bytes are too many for a vocabulary; at most ",
                                                 kVocabularyBytesMax, " are read"));
}

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_VOCABULARY_FILE_H_
