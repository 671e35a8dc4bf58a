#include "spec/data/image_files.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kValidationNames[] = {"validation", "val", "test"};

bool IsHidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

constexpr const char* kRead[] = {".png", ".jpg", ".jpeg"};
constexpr const char* kOtherImages[] = {".gif", ".bmp", ".webp", ".tif", ".tiff", ".heic", ".avif", ".jp2"};

template <typename Endings>
bool EndsWithOneOf(const fs::path& path, const Endings& endings) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(endings), std::end(endings), ending) != std::end(endings);
}

absl::Status CannotRead(const fs::path& place, const std::error_code& error) {
  return absl::InvalidArgumentError(
      absl::StrCat("data.images.path: cannot read ", place.string(), ": ", error.message()));
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
    } else if (EndsWithOneOf(entries->path(), kOtherImages)) {
      return absl::InvalidArgumentError(
          absl::StrCat("data.images.path: ", entries->path().string(), ": ", NoImage().message()));
    } else if (EndsWithOneOf(entries->path(), kRead) && entries->is_regular_file(ignored)) {
      files.push_back(entries->path().lexically_relative(base).generic_string());
    }
  }
  if (error) return CannotRead(folder, error);
  std::sort(files.begin(), files.end());
  return files;
}

absl::Status SameClasses(const ImageFiles& train, const ImageFiles& validation) {
  const std::vector<std::string>&a = train.class_names, &b = validation.class_names;
  if (a == b) return absl::OkStatus();
  const auto lacks = [](const ImageFiles& part, const std::vector<std::string>& there,
                        const std::vector<std::string>& wanted) {
    std::vector<std::string> missing;
    std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                        std::back_inserter(missing));
    if (missing.empty()) return std::string();
    const std::size_t all = missing.size();
    if (all > 5) missing.resize(5);
    return absl::StrCat("; ", part.folder.string(), " lacks ", absl::StrJoin(missing, ", "),
                        all > 5 ? absl::StrCat(" and ", all - 5, " more") : "");
  };
  return absl::InvalidArgumentError(
      absl::StrCat("data.images.path: training and validation must have the same classes, a folder each",
                   lacks(train, a, b), lacks(validation, b, a)));
}

}  // namespace

absl::Status NoImage() {
  return absl::InvalidArgumentError(
      "neither a PNG nor a JPEG: convert it to one of them, or take it out of the folder");
}

absl::StatusOr<ImageFiles> ImageFiles::List(const fs::path& folder, const DataRoots& roots) {
  RETURN_IF_ERROR(roots.Check(folder));
  ImageFiles result;
  result.folder = folder;
  std::error_code error;
  fs::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    std::error_code ignored;
    if (!IsHidden(entries->path()) && entries->is_directory(ignored))
      result.class_names.push_back(entries->path().filename().string());
  }
  if (error) return CannotRead(folder, error);
  if (result.class_names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("data.images.path: no classes in ", folder.string(),
                                                   ": make one folder for each, with its images in it"));
  }
  std::sort(result.class_names.begin(), result.class_names.end());
  for (std::size_t label = 0; label < result.class_names.size(); ++label) {
    const fs::path class_folder = folder / result.class_names[label];
    ASSIGN_OR_RETURN(std::vector<std::string> files, ImagesBelow(class_folder, folder));
    if (files.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("data.images.path: no .png, .jpg or .jpeg file in ",
                                                     class_folder.string(),
                                                     "; put images there, or remove the folder"));
    }
    for (std::string& file : files)
      result.files.push_back({.path = std::move(file), .label = static_cast<std::int64_t>(label)});
  }
  return result;
}

absl::StatusOr<ImageParts> ListImages(const fs::path& path, const DataRoots& roots) {
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
  ImageParts parts;
  ASSIGN_OR_RETURN(parts.train, ImageFiles::List(path / "train", roots));
  ASSIGN_OR_RETURN(parts.validation, ImageFiles::List(path / validation, roots));
  RETURN_IF_ERROR(SameClasses(parts.train, parts.validation));
  return parts;
}

}  // namespace inlier
