#include "core/data/file_digest.h"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/regular_file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1 << 18;

// The state that a cached digest is valid for: size, modification time and number of the file.
absl::StatusOr<std::string> FileState(const fs::path& file, bool* settled) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return ErrnoStatus("stat " + file.string());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  // A file changed a moment ago may change again with the same modification time.
  if (std::chrono::duration_cast<std::chrono::seconds>(now).count() - info.st_mtim.tv_sec <= 2)
    *settled = false;
  return absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino);
}

// The states of all files in one line.
absl::StatusOr<std::string> StateOf(const std::vector<fs::path>& files, bool* settled) {
  *settled = true;
  if (files.size() == 1) return FileState(files[0], settled);
  Sha256 sha;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string state, FileState(file, settled));
    sha.Update(absl::StrCat(file.string(), "\n", state, "\n"));
  }
  return sha.HexDigest();
}

// `read` gets the bytes of each piece.
absl::StatusOr<std::string> DigestOfFile(const fs::path& path, const DataRoots& roots,
                                         const std::function<void(std::size_t)>& read) {
  ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(path, roots));
  Sha256 sha;
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(at, piece.data(), piece.size()));
    sha.Update(std::string_view(piece.data(), got));
    at += got;
    if (got > 0) read(got);
    if (got < piece.size()) return sha.HexDigest();
  }
}

}  // namespace

absl::StatusOr<std::string> CachedDigestOfFiles(const std::vector<fs::path>& files, const fs::path& place,
                                                const DataRoots& roots, const fs::path& memory,
                                                const CombineDigests& combine,
                                                const DigestProgress& progress) {
  bool settled = false;
  ASSIGN_OR_RETURN(const std::string state, StateOf(files, &settled));

  // One line: the digest, then the state it is valid for.
  if (std::ifstream in(memory); in) {
    std::string digest, remembered;
    if (in >> digest && std::getline(in >> std::ws, remembered) && digest.size() == 64 && remembered == state)
      return digest;
  }
  std::vector<std::string> digests;
  std::uint64_t done = 0, total = 0;
  for (const fs::path& file : files) total += SizeOf(file);
  const auto read = [&](std::size_t bytes) {
    done += bytes;
    if (progress) progress(done, total);
  };
  for (const fs::path& file : files) {
    absl::StatusOr<std::string> digest = DigestOfFile(file, roots, read);
    if (!digest.ok()) return Unreadable(digest.status());
    digests.push_back(*std::move(digest));
  }
  const std::string digest = combine(digests);
  bool settled_after = false;
  ASSIGN_OR_RETURN(const std::string state_after, StateOf(files, &settled_after));
  if (state_after != state) {
    return absl::UnavailableError(
        absl::StrCat(place.string(), " changed while it was read; try again when it is complete"));
  }
  if (settled) RETURN_IF_ERROR(WriteFileAtomically(memory, absl::StrCat(digest, " ", state, "\n")));
  return digest;
}

}  // namespace inlier
