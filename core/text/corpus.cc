#include "core/text/corpus.h"

#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {

namespace fs = std::filesystem;

absl::StatusOr<std::string> CachedDigest(const CorpusSource& source, const fs::path& cache_dir,
                                         const DigestProgress& progress) {
  RETURN_IF_ERROR(source.roots.Check(source.path));
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(source.path, error);
  std::string name = absolute.string();
  if (RecordFormOf(source.path.native()))  // Of a link the name decides, not what it leads to.
    absl::StrAppend(&name, "\n", source.field, "\n", source.path.extension().string());
  const fs::path memory = cache_dir / absl::StrCat("corpus-", Sha256Hex(name).substr(0, 16), ".digest");
  return CachedDigestOfFiles(
      files, source.path, source.roots, memory,
      [&source](const std::vector<std::string>& digests) { return DigestOfCorpus(source, digests); },
      progress);
}

}  // namespace inlier
