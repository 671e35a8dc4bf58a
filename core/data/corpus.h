// Where texts come from: a named corpus of the data folder, or a file; mapped, cut into lines, named by its
// digest.
//
// Thread safety: a Corpus is immutable.
#ifndef INLIER_CORE_DATA_CORPUS_H_
#define INLIER_CORE_DATA_CORPUS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/mapped_file.h"

namespace inlier {

// `phase` is what is being done ("tokenize", "train vocabulary", "wait for another process"), `fraction` how
// much of it.
using TextProgress = std::function<void(std::string_view phase, double fraction)>;

struct TextOpenOptions {
  std::filesystem::path data_dir;   // <corpus>.txt files.
  std::filesystem::path cache_dir;  // Digests, vocabularies and token files; made when it is missing.
  int threads = 1;                  // For tokenising, when the cache has to be made.
  TextProgress progress;            // May be empty. Called from the thread that opens.
};

// The file of a named corpus: data_dir/<corpus>.txt.
// InvalidArgument when the name is not a plain name; NotFound, naming the folder, the corpora in it and the
// remedy, when there is no such file.
absl::StatusOr<std::filesystem::path> FindCorpus(const std::string& corpus,
                                                 const std::filesystem::path& data_dir);

// Names of the corpora in a folder, sorted.
std::vector<std::string> CorporaIn(const std::filesystem::path& data_dir);

// SHA-256 of a file, remembered in `cache_dir` for as long as the file's size and time of change stay the
// same.
absl::StatusOr<std::string> CachedFileDigest(const std::filesystem::path& file,
                                             const std::filesystem::path& cache_dir);

class Corpus {
 public:
  static absl::StatusOr<Corpus> Open(const std::filesystem::path& file);

  // The texts: lines without their end ("\n" or "\r\n"), those of white space only left out. They live as
  // long as the Corpus.
  const std::vector<std::string_view>& texts() const { return texts_; }
  std::string_view bytes() const { return file_.bytes(); }

 private:
  MappedFile file_;
  std::vector<std::string_view> texts_;
};

}  // namespace inlier

#endif  // INLIER_CORE_DATA_CORPUS_H_
