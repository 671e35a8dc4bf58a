#include "core/images/image_source.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/status.h"
#include "core/images/idx_file.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFashionMnist = "fashion-mnist";

// An IdxPart or an ImageFolder.
template <typename Images>
class PartOf : public ImagePart {
 public:
  explicit PartOf(Images images) : images_(std::move(images)) {}
  std::int64_t size() const override { return images_.size(); }
  std::int64_t LabelOf(std::int64_t i) const override { return images_.LabelOf(i); }
  absl::StatusOr<Image> ImageOf(std::int64_t i) const override { return images_.ImageOf(i); }

 private:
  const Images images_;
};

// A name that stays inside the data folder.
bool IsFolderName(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

// Folders of the data folder with images.
std::vector<std::string> ImagesIn(const fs::path& data_dir) {
  std::vector<std::string> names;
  for (const fs::path& entry : EntriesOf(data_dir)) {
    std::error_code ignored;
    if (HasIdxPart(entry, "train") || fs::is_directory(entry / "train", ignored))
      names.push_back(entry.filename().string());
  }
  return names;
}

absl::StatusOr<ImageSource> OpenIdx(const fs::path& folder, const DataRoots& roots,
                                    const std::function<void(std::string_view, double)>& progress) {
  const auto report = [&](double fraction) {
    if (progress) progress("read images", fraction);
  };
  report(0);
  ASSIGN_OR_RETURN(IdxPart train, IdxPart::Read(folder, "train", roots));
  ASSIGN_OR_RETURN(IdxPart validation, IdxPart::Read(folder, "t10k", roots));
  ImageSource source;
  const std::int64_t classes = 1 + std::max(train.LargestLabel(), validation.LargestLabel());
  for (std::int64_t label = 0; label < classes; ++label) source.class_names.push_back(std::to_string(label));
  source.content_digest =
      Sha256Hex(absl::StrCat("idx\n", train.ContentDigest(), "\n", validation.ContentDigest()));
  source.train = std::make_unique<PartOf<IdxPart>>(std::move(train));
  source.validation = std::make_unique<PartOf<IdxPart>>(std::move(validation));
  report(1);
  return source;
}

absl::StatusOr<ImageSource> OpenFolders(const fs::path& folder, int threads, const ImageAccess& access,
                                        const std::function<void(std::string_view, double)>& progress) {
  ASSIGN_OR_RETURN(ImageFolders folders, ListImageFolders(folder, access));
  const auto all = static_cast<double>(folders.train.size() + folders.validation.size());
  const auto digest = [&](const ImageFolder& part, double before) {
    return part.ContentDigest(threads, [&, before](double fraction) {
      if (progress) progress("read images", (before + fraction * static_cast<double>(part.size())) / all);
    });
  };
  ASSIGN_OR_RETURN(const std::string train, digest(folders.train, 0));
  ASSIGN_OR_RETURN(const std::string validation,
                   digest(folders.validation, static_cast<double>(folders.train.size())));
  ImageSource source;
  source.class_names = folders.train.class_names();
  source.content_digest = Sha256Hex(absl::StrCat("folders\n", train, "\n", validation));
  source.train = std::make_unique<PartOf<ImageFolder>>(std::move(folders.train));
  source.validation = std::make_unique<PartOf<ImageFolder>>(std::move(folders.validation));
  return source;
}

}  // namespace

absl::StatusOr<fs::path> FindImages(const v1::ImageDataSpec& spec, const fs::path& data_dir) {
  std::error_code error;
  if (spec.has_path()) {
    if (fs::is_directory(spec.path(), error)) return fs::path(spec.path());
    return absl::NotFoundError(absl::StrCat(
        "data.images.path: no folder ", spec.path(),
        " on this machine; name one of IDX files, or one with train/ and validation/, a folder a class"));
  }
  if (!IsFolderName(spec.dataset())) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.images.dataset: \"", spec.dataset(),
                     "\" is not the name of a data set; a folder is named with data.images.path"));
  }
  const fs::path folder = data_dir / spec.dataset();
  if (fs::is_directory(folder, error)) return folder;
  const bool fashion = spec.dataset() == kFashionMnist;
  if (fashion && fs::is_directory(kDebiansFashionMnist, error)) return fs::path(kDebiansFashionMnist);
  const std::vector<std::string> there = ImagesIn(data_dir);
  return absl::NotFoundError(absl::StrCat(
      "data.images.dataset: no images \"", spec.dataset(), "\" in ", data_dir.string(),
      there.empty() ? " (no images in it)" : absl::StrCat(" (there are: ", absl::StrJoin(there, ", "), ")"),
      fashion ? "; get them with `make images` (tools/setup/setup images), or install Debian's package "
                "dataset-fashion-mnist"
              : "; put a folder of IDX files or of image files there, or name one with data.images.path"));
}

absl::StatusOr<ImageSource> OpenImageSource(const fs::path& folder, int threads,
                                            const std::function<void(std::string_view, double)>& progress,
                                            const ImageAccess& access) {
  if (HasIdxPart(folder, "train") || HasIdxPart(folder, "t10k"))
    return OpenIdx(folder, access.roots, progress);
  return OpenFolders(folder, threads, access, progress);
}

}  // namespace inlier
