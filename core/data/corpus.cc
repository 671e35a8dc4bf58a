#include "core/data/corpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool IsPlainName(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             std::string::npos &&
         name.front() != '.';
}

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos; }

// What a remembered digest holds for: size, time of change and number of the file.
absl::StatusOr<std::string> FileState(const fs::path& file, bool* settled) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return ErrnoStatus("stat " + file.string());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  // A file changed a moment ago may change again without its time of change showing it.
  *settled = std::chrono::duration_cast<std::chrono::seconds>(now).count() - info.st_mtim.tv_sec > 2;
  return absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino);
}

}  // namespace

std::vector<std::string> CorporaIn(const fs::path& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_dir, error)) {
    if (entry.path().extension() == ".txt" && entry.is_regular_file(error))
      names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<fs::path> FindCorpus(const std::string& corpus, const fs::path& data_dir) {
  if (!IsPlainName(corpus)) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.text.corpus: \"", corpus,
                     "\" is not the name of a corpus; a file is named with data.text.path"));
  }
  const fs::path file = data_dir / (corpus + ".txt");
  std::error_code error;
  if (fs::is_regular_file(file, error)) return file;
  const std::vector<std::string> there = CorporaIn(data_dir);
  return absl::NotFoundError(absl::StrCat(
      "data.text.corpus: no corpus \"", corpus, "\" in ", data_dir.string(),
      there.empty() ? " (no corpora there)" : absl::StrCat(" (there are: ", absl::StrJoin(there, ", "), ")"),
      "; get it with `make corpora`, or name a text file of your own with data.text.path"));
}

absl::StatusOr<std::string> CachedFileDigest(const fs::path& file, const fs::path& cache_dir) {
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(file, error);
  bool settled = false;
  ASSIGN_OR_RETURN(const std::string state, FileState(file, &settled));
  const fs::path memory =
      cache_dir / absl::StrCat("corpus-", Sha256Hex(absolute.string()).substr(0, 16), ".digest");

  // One line: the digest, then what it holds for.
  if (std::ifstream in(memory); in) {
    std::string digest, remembered;
    if (in >> digest && std::getline(in >> std::ws, remembered) && digest.size() == 64 && remembered == state)
      return digest;
  }
  ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(file));
  bool settled_after = false;
  ASSIGN_OR_RETURN(const std::string state_after, FileState(file, &settled_after));
  if (state_after != state) {
    return absl::UnavailableError(
        absl::StrCat(file.string(), " changed while it was read; try again when it is complete"));
  }
  if (settled) RETURN_IF_ERROR(WriteFileAtomically(memory, absl::StrCat(digest, " ", state, "\n")));
  return digest;
}

absl::StatusOr<Corpus> Corpus::Open(const fs::path& file) {
  Corpus corpus;
  ASSIGN_OR_RETURN(corpus.file_, MappedFile::Open(file));
  const std::string_view text = corpus.file_.bytes();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!IsBlank(line)) corpus.texts_.push_back(line);
  }
  return corpus;
}

}  // namespace inlier
