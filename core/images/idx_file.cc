#include "core/images/idx_file.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/images/unpacked_file.h"

namespace inlier {
namespace {

constexpr std::uint32_t kLabelsMagic = 2049;
constexpr std::uint32_t kImagesMagic = 2051;
constexpr std::uint32_t kChannelImagesMagic = 2052;
constexpr std::int64_t kSideMax = 16384;

absl::Status Invalid(const std::filesystem::path& file, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", what));
}

// A file whose header has been read.
struct OpenIdxFile {
  UnpackedFile file;
  std::uint32_t magic = 0;
  std::vector<std::int64_t> sizes;
  std::string header;  // Its bytes.
};

// The next big-endian number of a header; appends its bytes. Nothing at the end of the file.
absl::StatusOr<std::optional<std::uint32_t>> NextNumber(UnpackedFile& file, std::string& header) {
  char bytes[4];
  ASSIGN_OR_RETURN(const std::size_t got, file.Read(bytes, sizeof(bytes)));
  if (got < sizeof(bytes)) return std::optional<std::uint32_t>();
  header.append(bytes, sizeof(bytes));
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

absl::StatusOr<OpenIdxFile> OpenHeader(const std::filesystem::path& path, const DataRoots& roots) {
  ASSIGN_OR_RETURN(UnpackedFile file, UnpackedFile::Open(path, roots));
  OpenIdxFile idx{.file = std::move(file)};
  ASSIGN_OR_RETURN(const std::optional<std::uint32_t> magic, NextNumber(idx.file, idx.header));
  if (!magic) return Invalid(path, "not an IDX file: it has less than four bytes");
  idx.magic = *magic;
  if (*magic != kLabelsMagic && *magic != kImagesMagic && *magic != kChannelImagesMagic) {
    return Invalid(path, absl::StrCat("not an IDX file of bytes: it does not begin with ", kImagesMagic,
                                      " (images), ", kChannelImagesMagic, " or ", kLabelsMagic, " (labels)"));
  }
  for (std::size_t axis = 0; axis < (*magic & 0xff); ++axis) {
    ASSIGN_OR_RETURN(const std::optional<std::uint32_t> size, NextNumber(idx.file, idx.header));
    if (!size) return Invalid(path, "truncated: it ends within its header");
    idx.sizes.push_back(*size);
  }
  return idx;
}

// The rest of the file, `each` bytes for every one of sizes[0], after `before` bytes that are the caller's.
// Memory is taken as the bytes come, and never for more than the header promises.
absl::StatusOr<std::unique_ptr<char[]>> ReadBody(OpenIdxFile& idx, std::size_t before, std::int64_t each,
                                                 const char* what) {
  const auto wanted = static_cast<std::uint64_t>(idx.sizes[0] * each);
  const auto differs = [&](const char* how, const std::string& there) {
    return Invalid(idx.file.path(),
                   absl::StrCat(how, ": its header promises ", idx.sizes[0], " ", what, " in ", wanted,
                                " bytes, and there are ", there, "; fetch it again"));
  };
  if (wanted > idx.file.bytes_left_max())
    return differs("truncated",
                   absl::StrCat(idx.file.is_compressed() ? "at most " : "", idx.file.bytes_left_max()));
  auto body = std::make_unique_for_overwrite<char[]>(before + wanted);
  ASSIGN_OR_RETURN(const std::size_t got, idx.file.Read(body.get() + before, wanted));
  if (got < wanted) return differs("truncated", absl::StrCat(got));
  char after;
  ASSIGN_OR_RETURN(const std::size_t more, idx.file.Read(&after, 1));
  if (more > 0) return differs("too long", "more");
  return body;
}

// FOLDER/name with or without .gz; nothing where there is neither.
std::optional<std::filesystem::path> FindFile(const std::filesystem::path& folder, const std::string& name) {
  std::error_code error;
  for (const char* ending : {"", ".gz"}) {
    const std::filesystem::path file = folder / (name + ending);
    if (std::filesystem::is_regular_file(file, error)) return file;
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> FindImages(const std::filesystem::path& folder,
                                                const std::string& name) {
  const auto grey = FindFile(folder, name + "-images-idx3-ubyte");
  return grey.has_value() ? grey : FindFile(folder, name + "-images-idx4-ubyte");
}

}  // namespace

bool HasIdxPart(const std::filesystem::path& folder, const std::string& name) {
  return FindImages(folder, name).has_value();
}

std::vector<std::filesystem::path> IdxFiles(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : {FindImages(folder, name), FindFile(folder, name + "-labels-idx1-ubyte")}) {
    if (file.has_value()) files.push_back(*file);
  }
  return files;
}

absl::StatusOr<IdxPart> IdxPart::Read(const std::filesystem::path& folder, const std::string& name,
                                      const DataRoots& roots) {
  const auto images_file = FindImages(folder, name);
  const auto labels_file = FindFile(folder, name + "-labels-idx1-ubyte");
  for (const auto& [file, missing] :
       {std::pair(images_file, "-images-idx3-ubyte"), std::pair(labels_file, "-labels-idx1-ubyte")}) {
    if (!file.has_value()) {
      return absl::NotFoundError(absl::StrCat("no file ", (folder / (name + missing)).string(),
                                              ", with or without .gz: fetch the data set again"));
    }
  }
  IdxPart part;
  ASSIGN_OR_RETURN(OpenIdxFile images, OpenHeader(*images_file, roots));
  if (images.magic == kLabelsMagic) return Invalid(*images_file, "labels, where images are needed");
  RETURN_IF_ERROR(part.SetSizes(*images_file, images.sizes));
  ASSIGN_OR_RETURN(OpenIdxFile labels, OpenHeader(*labels_file, roots));
  if (labels.magic != kLabelsMagic) return Invalid(*labels_file, "images, where labels are needed");
  if (images.sizes[0] != labels.sizes[0]) {
    return Invalid(*labels_file,
                   absl::StrCat(labels.sizes[0], " labels for the ", images.sizes[0], " images of ",
                                images_file->string(), "; fetch both from the same place"));
  }
  part.size_ = images.sizes[0];
  if (part.size_ == 0) return Invalid(*images_file, "no images in it");
  part.first_pixel_ = images.header.size();
  ASSIGN_OR_RETURN(part.image_file_, ReadBody(images, part.first_pixel_, part.image_bytes(), "images"));
  std::copy(images.header.begin(), images.header.end(), part.image_file_.get());
  ASSIGN_OR_RETURN(part.labels_, ReadBody(labels, 0, 1, "labels"));
  return part;
}

absl::Status IdxPart::SetSizes(const std::filesystem::path& file, const std::vector<std::int64_t>& sizes) {
  channels_ = sizes.size() == 4 ? static_cast<int>(std::min<std::int64_t>(sizes[3], kSideMax)) : 1;
  if (sizes[1] < 1 || sizes[1] > kSideMax || sizes[2] < 1 || sizes[2] > kSideMax ||
      (channels_ != 1 && channels_ != 3)) {
    return Invalid(file, absl::StrCat("images of ", sizes[1], "x", sizes[2], " with ", channels_,
                                      " channels are not supported: sides go from 1 to ", kSideMax,
                                      ", channels are 1 or 3"));
  }
  height_ = static_cast<int>(sizes[1]);
  width_ = static_cast<int>(sizes[2]);
  return absl::OkStatus();
}

Image IdxPart::ImageOf(std::int64_t i) const {
  Image image(height_, width_, channels_);
  std::copy_n(image_file_.get() + first_pixel_ + image.bytes.size() * i, image.bytes.size(),
              reinterpret_cast<char*>(image.bytes.data()));
  return image;
}

std::int64_t IdxPart::LargestLabel() const {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < size(); ++i) largest = std::max(largest, LabelOf(i));
  return largest;
}

std::string IdxPart::ContentDigest() const {
  Sha256 sha;
  sha.Update({image_file_.get(), first_pixel_ + static_cast<std::size_t>(size_ * image_bytes())});
  sha.Update({labels_.get(), static_cast<std::size_t>(size_)});
  return sha.HexDigest();
}

}  // namespace inlier
