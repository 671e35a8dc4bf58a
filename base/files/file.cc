#include "base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files/atomic_file.h"
#include "base/files/descriptor.h"
#include "base/files/regular_file.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr char kProbe[] = ".writable.";  // Begins the names of the files by which a folder is tried.

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const RegularFile file, RegularFile::Open(path));
  std::string content;
  // One byte more than there should be finds the end; files of /proc have no size.
  for (std::size_t want = file.size() + 1, done = 0;; want = 1 << 16) {
    content.resize(done + want);
    ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(done, content.data() + done, want));
    done += got;
    if (got == want) continue;
    content.resize(done);
    return content;
  }
}

absl::StatusOr<std::string> ReadSmallFile(const std::filesystem::path& path, std::size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return ErrnoStatus(absl::StrCat("cannot read ", path.string()));
  std::string content;
  std::array<char, 1 << 16> piece;
  while (content.size() <= bytes_max) {
    const ssize_t got = ::read(file.fd(), piece.data(), piece.size());
    if (got == 0) return content;
    if (got < 0 && errno != EINTR) return ErrnoStatus(absl::StrCat("cannot read ", path.string()));
    if (got > 0) content.append(piece.data(), static_cast<std::size_t>(got));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), " has more than ", bytes_max, " bytes; is it the right file?"));
}

absl::Status SyncPath(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return ErrnoStatus(absl::StrCat("cannot open ", path.string()));
  if (::fsync(file.fd()) != 0)
    return ErrnoStatus(absl::StrCat("cannot write ", path.string(), " to the disk"));
  return absl::OkStatus();
}

absl::Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  AtomicFile file(path, mode);
  RETURN_IF_ERROR(file.Append(content));
  return file.Commit();
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

absl::Status WriteFile(const std::filesystem::path& path, std::string_view content, mode_t mode) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  const bool written = file.fd() >= 0 && WriteAll(file.fd(), content);
  return written ? absl::OkStatus() : ErrnoStatus(absl::StrCat("cannot write ", path.string()));
}

absl::Status RenameDurably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return ErrnoStatus(absl::StrCat("cannot move ", from.string(), " to ", to.string()));
  }
  RETURN_IF_ERROR(SyncPath(FolderOf(to)));
  return FolderOf(from) == FolderOf(to) ? absl::OkStatus() : SyncPath(FolderOf(from));
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

std::uint64_t SizeOf(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (!at->path().filename().string().starts_with(kProbe)) entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

absl::Status MakeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the folder ", folder.string(), ": ", error.message(),
                     "; name another one or change its parent's permissions"));
  }
  return absl::OkStatus();
}

absl::Status MakeWritableFolder(const std::filesystem::path& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::string probe = (folder / absl::StrCat(kProbe, "XXXXXX")).string();
  const Descriptor file(::mkostemp(probe.data(), O_CLOEXEC));
  if (file.fd() < 0) {
    const absl::Status status = ErrnoStatus(absl::StrCat("cannot write in ", folder.string()));
    return absl::FailedPreconditionError(
        absl::StrCat(status.message(), "; name another folder or change its permissions"));
  }
  ::unlink(probe.c_str());
  return absl::OkStatus();
}

}  // namespace inlier
