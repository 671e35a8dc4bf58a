// Sources of texts: a named corpus of the data folder, a text file, a folder of text files, or a file of records; each
// identified by the digest of its content.
#ifndef INLIER_SPEC_DATA_CORPUS_H_
#define INLIER_SPEC_DATA_CORPUS_H_

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/files/mapped_file.h"
#include "spec/data/records.h"

namespace inlier {

// The file of a corpus that data.text.corpus names: data_dir/<corpus>.txt. Errors as FindDataFile.
absl::StatusOr<std::filesystem::path> FindCorpus(const std::string& corpus,
                                                 const std::filesystem::path& data_dir);

struct CorpusSource {
  // A text file (one text a line), a file of records (the text in the column `field`), or a folder (every .txt file below
  // it, in the order of their paths).
  std::filesystem::path path;
  std::string field = "text";
  // Bytes that are not text are an error. A corpus of the data folder is read unchecked: gcide has a few.
  bool must_be_utf8 = true;
  DataRoots roots = {};
  std::string setting = "data.text";  // Whose path and field these are, for messages.
  // Texts that begin behind so many bytes of a file are not read.
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};

// NotFound: no such file or folder. InvalidArgument: a folder without a .txt file, or one that cannot be read.
absl::StatusOr<std::vector<std::filesystem::path>> FilesOf(const CorpusSource& source);

// SHA-256 that identifies the content of a source whose files have these digests: a text file's own, or that of the
// digests, of the form and of `field`.
std::string DigestOfCorpus(const CorpusSource& source, const std::vector<std::string>& digests);

class Corpus {
 public:
  // InvalidArgument names file and line: bytes that are not text, and errors of Records::Read.
  static absl::StatusOr<Corpus> Open(const CorpusSource& source);

  // The texts: lines without their end ("\n" or "\r\n"), or the columns' values; blank ones are left out. They live as long
  // as the Corpus.
  const std::vector<std::string_view>& texts() const { return texts_; }

  // InvalidArgument where they cannot be split into two parts: fewer than two.
  absl::Status CheckTexts() const;

  // True where each text is a document of its own: records.
  bool HasDocuments() const;

  // True where the first file begins with a byte order mark, which is a character of its first text.
  bool HasByteOrderMark() const;

  // DigestOfCorpus of the bytes that were read.
  std::string ContentDigest() const;

 private:
  CorpusSource source_;
  std::vector<MappedFile> files_;  // Of lines.
  Records records_;
  std::vector<std::string_view> texts_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_CORPUS_H_
