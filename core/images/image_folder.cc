#include "core/images/image_folder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/mapped_file.h"
#include "base/parallel_for.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// A file's own error, with its name.
absl::Status Named(const absl::Status& status, const fs::path& file) {
  return absl::Status(status.code(), absl::StrCat(file.string(), ": ", std::string(status.message())));
}

}  // namespace

absl::StatusOr<Image> ImageFolder::ImageOf(std::int64_t i) const {
  const fs::path path = files_.folder / files_.files[i].path;
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, access_.roots));
  absl::StatusOr<Image> image = DecodeImage(file.bytes(), access_.pixels_max);
  if (!image.ok()) return Named(image.status(), path);
  return image;
}

absl::StatusOr<std::string> ImageFolder::ContentDigest(int threads,
                                                       const std::function<void(double)>& progress) const {
  std::vector<std::string> digests(files_.files.size());
  const auto read = [&](std::int64_t i) -> absl::Status {
    const fs::path path = files_.folder / files_.files[i].path;
    ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, access_.roots));
    const absl::Status header = CheckImageHeader(file.bytes(), access_.pixels_max);
    if (!header.ok()) return Named(header, path);
    digests[i] = Sha256Hex(file.bytes());
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ParallelFor(size(), threads, read, [&](std::int64_t started) {
    if (progress) progress(static_cast<double>(started) / static_cast<double>(size()));
  }));
  Sha256 sha;
  for (std::size_t i = 0; i < files_.files.size(); ++i)
    sha.Update(absl::StrCat(digests[i], " ", files_.files[i].path, "\n"));
  return sha.HexDigest();
}

absl::StatusOr<ImageFolders> ListImageFolders(const fs::path& path, const ImageAccess& access) {
  ASSIGN_OR_RETURN(ImageParts parts, ListImages(path, access.roots));
  return ImageFolders{ImageFolder(std::move(parts.train), access),
                      ImageFolder(std::move(parts.validation), access)};
}

}  // namespace inlier
