#include "core/images/image_folder.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/files/mapped_file.h"
#include "base/parallel_for.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValidationNames[] = {"validation", "val", "test"};

bool IsHidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool HasImageEnding(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

absl::Status CannotRead(const fs::path& place, const std::error_code& error) {
  return absl::InvalidArgumentError(
      absl::StrCat("data.images.path: cannot read ", place.string(), ": ", error.message()));
}

// A file's own error, with its name.
absl::Status Named(const absl::Status& status, const fs::path& file) {
  return absl::Status(status.code(), absl::StrCat(file.string(), ": ", std::string(status.message())));
}

// The images below `folder` as paths below `base`, sorted.
absl::StatusOr<std::vector<std::string>> ImagesBelow(const fs::path& folder, const fs::path& base) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::follow_directory_symlink, error),
      end;
  for (; !error && entries != end; entries.increment(error)) {
    std::error_code ignored;
    if (IsHidden(entries->path())) {
      if (entries->is_directory(ignored)) entries.disable_recursion_pending();
    } else if (HasImageEnding(entries->path()) && entries->is_regular_file(ignored)) {
      files.push_back(entries->path().lexically_relative(base).generic_string());
    }
  }
  if (error) return CannotRead(folder, error);
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status SameClasses(const ImageFolder& train, const ImageFolder& validation) {
  const std::vector<std::string>&a = train.class_names(), &b = validation.class_names();
  if (a == b) return absl::OkStatus();
  const auto lacks = [](const ImageFolder& folder, const std::vector<std::string>& there,
                        const std::vector<std::string>& wanted) {
    std::vector<std::string> missing;
    std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                        std::back_inserter(missing));
    if (missing.empty()) return std::string();
    const std::size_t all = missing.size();
    if (all > 5) missing.resize(5);
    return absl::StrCat("; ", folder.folder().string(), " lacks ", absl::StrJoin(missing, ", "),
                        all > 5 ? absl::StrCat(" and ", all - 5, " more") : "");
  };
  return absl::InvalidArgumentError(
      absl::StrCat("data.images.path: training and validation must have the same classes, a folder each",
                   lacks(train, a, b), lacks(validation, b, a)));
}

}  // namespace

absl::StatusOr<ImageFolder> ImageFolder::List(const fs::path& folder, const ImageAccess& access) {
  RETURN_IF_ERROR(access.roots.Check(folder));
  ImageFolder result;
  result.access_ = access;
  result.folder_ = folder;
  std::error_code error;
  fs::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    std::error_code ignored;
    if (!IsHidden(entries->path()) && entries->is_directory(ignored))
      result.class_names_.push_back(entries->path().filename().string());
  }
  if (error) return CannotRead(folder, error);
  if (result.class_names_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("data.images.path: no classes in ", folder.string(),
                                                   ": make one folder for each, with its images in it"));
  }
  std::sort(result.class_names_.begin(), result.class_names_.end());
  for (std::size_t label = 0; label < result.class_names_.size(); ++label) {
    const fs::path class_folder = folder / result.class_names_[label];
    ASSIGN_OR_RETURN(std::vector<std::string> files, ImagesBelow(class_folder, folder));
    if (files.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("data.images.path: no .png, .jpg or .jpeg file in ",
                                                     class_folder.string(),
                                                     "; put images there, or remove the folder"));
    }
    for (std::string& file : files)
      result.files_.push_back({.path = std::move(file), .label = static_cast<std::int64_t>(label)});
  }
  return result;
}

absl::StatusOr<Image> ImageFolder::ImageOf(std::int64_t i) const {
  const fs::path path = folder_ / files_[i].path;
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path, access_.roots));
  absl::StatusOr<Image> image = DecodeImage(file.bytes(), access_.pixels_max);
  if (!image.ok()) return Named(image.status(), path);
  return image;
}

absl::StatusOr<std::string> ImageFolder::ContentDigest(int threads,
                                                       const std::function<void(double)>& progress) const {
  std::vector<std::string> digests(files_.size());
  const auto read = [&](std::int64_t i) -> absl::Status {
    const fs::path path = folder_ / files_[i].path;
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
  for (std::size_t i = 0; i < files_.size(); ++i)
    sha.Update(absl::StrCat(digests[i], " ", files_[i].path, "\n"));
  return sha.HexDigest();
}

absl::StatusOr<ImageFolders> ListImageFolders(const fs::path& path, const ImageAccess& access) {
  std::error_code error;
  const char* validation = nullptr;
  for (const char* name : kValidationNames) {
    if (validation == nullptr && fs::is_directory(path / name, error)) validation = name;
  }
  if (!fs::is_directory(path / "train", error) || validation == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.images.path: ", path.string(),
        " has neither IDX files (train-images-idx3-ubyte, …, with or without .gz) nor the folders train/ and "
        "validation/ (or val/, test/) with a folder a class: name another, or lay it out so"));
  }
  ImageFolders folders;
  ASSIGN_OR_RETURN(folders.train, ImageFolder::List(path / "train", access));
  ASSIGN_OR_RETURN(folders.validation, ImageFolder::List(path / validation, access));
  RETURN_IF_ERROR(SameClasses(folders.train, folders.validation));
  return folders;
}

}  // namespace inlier
