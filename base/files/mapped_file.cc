#include "base/files/mapped_file.h"

#include <sys/mman.h>

#include <utility>

#include "base/files/regular_file.h"
#include "base/status.h"

namespace inlier {

absl::StatusOr<MappedFile> MappedFile::Open(const std::filesystem::path& path, const DataRoots& roots) {
  ASSIGN_OR_RETURN(const RegularFile opened, RegularFile::Open(path, roots));
  MappedFile file;
  if (opened.size() > 0) {
    void* data = mmap(nullptr, opened.size(), PROT_READ, MAP_SHARED, opened.fd(), 0);
    if (data == MAP_FAILED) return ErrnoStatus("map " + path.string());
    file.data_ = static_cast<const char*>(data);
    file.size_ = opened.size();
  }
  return file;  // The mapping stays when the descriptor is closed.
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
