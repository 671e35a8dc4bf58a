// What data with text are opened with, and the digest of a source of texts (spec/data/corpus.h).
#ifndef INLIER_CORE_TEXT_CORPUS_H_
#define INLIER_CORE_TEXT_CORPUS_H_

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/data/file_digest.h"
#include "spec/data/corpus.h"

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

// DigestOfCorpus, remembered in `cache_dir` while the files' sizes and modification times stay the same. Errors as
// FilesOf; InvalidArgument too for anything but a regular file, or one outside the roots.
absl::StatusOr<std::string> CachedDigest(const CorpusSource& source, const std::filesystem::path& cache_dir,
                                         const DigestProgress& progress = {});

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_CORPUS_H_
