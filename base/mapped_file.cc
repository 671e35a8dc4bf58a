#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/status.h"

namespace inlier {

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("open " + path.string());
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const absl::Status status = ErrnoStatus("stat " + path.string());
    close(fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(path.string() + ": not a regular file");
  }
  MappedFile file;
  if (info.st_size > 0) {
    void* data = mmap(nullptr, info.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      const absl::Status status = ErrnoStatus("map " + path.string());
      close(fd);
      return status;
    }
    file.data_ = static_cast<const char*>(data);
    file.size_ = info.st_size;
  }
  close(fd);  // The mapping stays.
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace inlier
