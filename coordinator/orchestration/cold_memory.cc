#include "coordinator/orchestration/cold_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {
namespace {

std::size_t PageBytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t WholePages(std::size_t bytes) { return (bytes + PageBytes() - 1) / PageBytes() * PageBytes(); }

// A file without a name.
int OpenScratch(const std::filesystem::path& folder) {
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
  std::string name = folder / ".cold.XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

}  // namespace

ColdMemory::~ColdMemory() {
  for (const auto& [begin, reservation] : reservations_)
    ::munmap(const_cast<char*>(begin), reservation.bytes);
  if (file_ >= 0) ::close(file_);
}

absl::Status ColdMemory::UseFileIn(const std::filesystem::path& folder) {
  INLIER_CHECK(file_ < 0);
  file_ = OpenScratch(folder);
  if (file_ < 0) return absl::ErrnoToStatus(errno, absl::StrCat(folder.string(), ": no scratch file"));
  return absl::OkStatus();
}

char* ColdMemory::Reserve(std::size_t bytes) {
  bytes = WholePages(bytes);
  void* begin =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  reservations_[static_cast<char*>(begin)] = {.bytes = bytes, .offset = file_bytes_};
  file_bytes_ += bytes;
  return static_cast<char*>(begin);
}

bool ColdMemory::Locate(const char* part, std::size_t bytes, std::size_t& offset) const {
  auto at = reservations_.upper_bound(part);
  if (file_ < 0 || at == reservations_.begin()) return false;
  --at;
  const auto within = static_cast<std::size_t>(part - at->first);
  if (within % PageBytes() != 0 || bytes % PageBytes() != 0 || within + bytes > at->second.bytes)
    return false;
  offset = at->second.offset + within;
  return true;
}

bool ColdMemory::Write(const char* part, std::size_t bytes) {
  std::size_t offset = 0;
  if (!Locate(part, bytes, offset)) return false;
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file_, part, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    part += written;
    offset += static_cast<std::size_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

absl::Status ColdMemory::Sync() const {
  if (file_ < 0 || ::fdatasync(file_) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "the scratch file of what has ended");
}

bool ColdMemory::Map(char* part, std::size_t bytes) {
  std::size_t offset = 0;
  if (!Locate(part, bytes, offset)) return false;
  const void* mapped = ::mmap(part, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                              file_, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    // There may be too many mappings; what was there before must be.
    INLIER_CHECK(::msync(part, bytes, MS_ASYNC) == 0);
    return false;
  }
  NoteCooled(part, part + bytes);
  return true;
}

void ColdMemory::NoteCooled(char* begin, char* end) {
  const std::lock_guard lock(mutex_);
  auto at = cooled_.upper_bound(begin);
  if (at != cooled_.begin() && std::prev(at)->second >= begin) --at;
  while (at != cooled_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = cooled_.erase(at);
  }
  cooled_.emplace(begin, end);
}

void ColdMemory::Drop() const {
  std::vector<std::pair<char*, char*>> cooled;
  {
    const std::lock_guard lock(mutex_);
    cooled.assign(cooled_.begin(), cooled_.end());
  }
  for (const auto& [begin, end] : cooled)
    ::madvise(begin, static_cast<std::size_t>(end - begin), MADV_PAGEOUT);  // Since Linux 5.4.
}

std::size_t ColdMemory::cooled_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, end] : cooled_) bytes += static_cast<std::size_t>(end - begin);
  return bytes;
}

}  // namespace inlier
