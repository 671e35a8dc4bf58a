// Sources of texts: a named corpus of the data folder, a text file, a folder of text files, or JSON lines;
// each identified by the digest of its content.
#ifndef INLIER_CORE_TEXT_CORPUS_H_
#define INLIER_CORE_TEXT_CORPUS_H_

#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/files/mapped_file.h"
#include "core/data/file_digest.h"

namespace inlier {

// `phase` is the current step ("tokenize", "train vocabulary", "wait for another process"), `fraction` its
// finished share.
using TextProgress = std::function<void(std::string_view phase, double fraction)>;

struct TextOpenOptions {
  std::filesystem::path data_dir;   // <corpus>.txt files.
  std::filesystem::path cache_dir;  // Digests, vocabularies and token files; made when it is missing.
  int threads = 1;                  // For tokenising, when the cache has to be made.
  TextProgress progress;            // May be empty. Called from the thread that opens.
  DigestProgress digest_progress;   // May be empty.
  DataRoots roots;                  // Where the files that the spec names may be.
};

// The file of a corpus that data.text.corpus names: data_dir/<corpus>.txt. Errors as FindDataFile.
absl::StatusOr<std::filesystem::path> FindCorpus(const std::string& corpus,
                                                 const std::filesystem::path& data_dir);

struct CorpusSource {
  // A text file (one text a line), a .jsonl file (one object a line, the text in its field `field`), or a
  // folder (every .txt file below it, in the order of their paths).
  std::filesystem::path path;
  std::string field = "text";
  // Bytes that are not UTF-8 are an error. A corpus of the data folder is read unchecked: gcide has a few.
  bool must_be_utf8 = true;
  DataRoots roots;
};

// SHA-256 that identifies the content: a text file's own, or that of the digests of the files and of `field`.
// It is cached in `cache_dir` while the files' sizes and modification times stay the same.
// NotFound: no such file or folder. InvalidArgument: a folder without a .txt file, anything but a regular file,
// or one outside the roots.
absl::StatusOr<std::string> CachedDigest(const CorpusSource& source, const std::filesystem::path& cache_dir,
                                         const DigestProgress& progress = {});

class Corpus {
 public:
  // InvalidArgument names file and line: bytes that are not UTF-8, a line that is not a JSON object, or one
  // without a text in the field.
  static absl::StatusOr<Corpus> Open(const CorpusSource& source);

  // The texts: lines without their end ("\n" or "\r\n"), or the fields' values; blank ones are left out. They
  // live as long as the Corpus.
  const std::vector<std::string_view>& texts() const { return texts_; }

  // True where each text is a document of its own: JSON lines.
  bool HasDocuments() const;

  // As CachedDigest, of the bytes that were read.
  std::string ContentDigest() const;

 private:
  absl::Status AddLines(std::string_view text, const std::string& file);

  CorpusSource source_;
  std::vector<MappedFile> files_;
  std::deque<std::string> owned_;  // Texts that are not verbatim parts of a file.
  std::vector<std::string_view> texts_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_CORPUS_H_
