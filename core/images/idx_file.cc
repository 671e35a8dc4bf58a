#include "core/images/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::uint32_t kLabelsMagic = 2049;
constexpr std::uint32_t kImagesMagic = 2051;
constexpr std::uint32_t kChannelImagesMagic = 2052;
constexpr std::int64_t kSideMax = 16384;

absl::Status Invalid(const std::filesystem::path& file, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": ", what));
}

std::uint32_t BigEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

// An IDX header: its magic and the sizes that follow it.
struct IdxHeader {
  std::uint32_t magic = 0;
  std::vector<std::int64_t> sizes;
  std::size_t length = 0;  // In bytes.
};

absl::StatusOr<IdxHeader> HeaderOf(std::string_view bytes, const std::filesystem::path& file) {
  IdxHeader header;
  if (bytes.size() < 4)
    return Invalid(file, absl::StrCat("not an IDX file: it has only ", bytes.size(), " bytes"));
  header.magic = BigEndian(bytes, 0);
  const bool known =
      header.magic == kLabelsMagic || header.magic == kImagesMagic || header.magic == kChannelImagesMagic;
  if (!known) {
    return Invalid(
        file, absl::StrCat("not an IDX file of bytes: it begins with ", header.magic, ", not ", kImagesMagic,
                           " (images), ", kChannelImagesMagic, " or ", kLabelsMagic, " (labels)"));
  }
  const std::size_t axes = header.magic & 0xff;
  header.length = 4 + 4 * axes;
  if (bytes.size() < header.length) return Invalid(file, "truncated: it ends within its header");
  for (std::size_t axis = 0; axis < axes; ++axis) header.sizes.push_back(BigEndian(bytes, 4 + 4 * axis));
  return header;
}

// The bytes after the header must be `each` for every one of sizes[0].
absl::Status CheckLength(std::string_view bytes, const IdxHeader& header, std::int64_t each, const char* what,
                         const std::filesystem::path& file) {
  const std::int64_t wanted = header.sizes[0] * each;
  const auto there = static_cast<std::int64_t>(bytes.size() - header.length);
  if (there == wanted) return absl::OkStatus();
  return Invalid(file, absl::StrCat(there < wanted ? "truncated: " : "too long: ", "its header promises ",
                                    header.sizes[0], " ", what, " in ", wanted, " bytes, and there are ",
                                    there, "; fetch it again"));
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

// The content of gzip's `bytes`: its members, one after the other.
absl::StatusOr<std::string> Decompress(std::string_view bytes, const std::filesystem::path& file) {
  z_stream stream = {};
  constexpr int kGzip = 15 + 16;
  if (inflateInit2(&stream, kGzip) != Z_OK) return absl::ResourceExhaustedError("zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  std::string content;
  std::vector<char> block(1 << 18);
  constexpr std::size_t kInputMax = 1 << 30;
  while (true) {
    if (stream.avail_in == 0) {
      const std::string_view next = bytes.substr(0, kInputMax);
      bytes.remove_prefix(next.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next.data()));
      stream.avail_in = static_cast<uInt>(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_BUF_ERROR) return Invalid(file, "truncated: its gzip stream ends early; fetch it again");
    if (state != Z_OK && state != Z_STREAM_END) {
      return Invalid(
          file, absl::StrCat("its gzip stream is damaged (",
                             stream.msg == nullptr ? "no reason given" : stream.msg, "); fetch it again"));
    }
    content.append(block.data(), block.size() - stream.avail_out);
    if (state != Z_STREAM_END) continue;
    if (stream.avail_in == 0 && bytes.empty()) return content;
    inflateReset(&stream);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFileOrGzip(const std::filesystem::path& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  const bool compressed = bytes.ok() && bytes->size() >= 2 && (*bytes)[0] == '\x1f' && (*bytes)[1] == '\x8b';
  return compressed ? Decompress(*bytes, path) : bytes;
}

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

absl::StatusOr<IdxPart> IdxPart::Read(const std::filesystem::path& folder, const std::string& name) {
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
  ASSIGN_OR_RETURN(part.image_file_, ReadFileOrGzip(*images_file));
  ASSIGN_OR_RETURN(const IdxHeader images, HeaderOf(part.image_file_, *images_file));
  if (images.magic == kLabelsMagic) return Invalid(*images_file, "labels, where images are needed");
  part.channels_ = images.sizes.size() == 4 ? static_cast<int>(images.sizes[3]) : 1;
  if (images.sizes[1] < 1 || images.sizes[1] > kSideMax || images.sizes[2] < 1 ||
      images.sizes[2] > kSideMax || (part.channels_ != 1 && part.channels_ != 3)) {
    return Invalid(
        *images_file,
        absl::StrCat("images of ", images.sizes[1], "x", images.sizes[2], " with ", part.channels_,
                     " channels are not supported: sides go from 1 to ", kSideMax, ", channels are 1 or 3"));
  }
  part.height_ = static_cast<int>(images.sizes[1]);
  part.width_ = static_cast<int>(images.sizes[2]);
  part.first_pixel_ = images.length;
  RETURN_IF_ERROR(CheckLength(part.image_file_, images,
                              std::int64_t{part.height_} * part.width_ * part.channels_, "images",
                              *images_file));

  ASSIGN_OR_RETURN(part.labels_, ReadFileOrGzip(*labels_file));
  ASSIGN_OR_RETURN(const IdxHeader labels, HeaderOf(part.labels_, *labels_file));
  if (labels.magic != kLabelsMagic) return Invalid(*labels_file, "images, where labels are needed");
  RETURN_IF_ERROR(CheckLength(part.labels_, labels, 1, "labels", *labels_file));
  part.labels_.erase(0, labels.length);
  if (images.sizes[0] != labels.sizes[0]) {
    return Invalid(*labels_file,
                   absl::StrCat(labels.sizes[0], " labels for the ", images.sizes[0], " images of ",
                                images_file->string(), "; fetch both from the same place"));
  }
  if (part.size() == 0) return Invalid(*images_file, "no images in it");
  return part;
}

Image IdxPart::ImageOf(std::int64_t i) const {
  Image image(height_, width_, channels_);
  std::copy_n(image_file_.data() + first_pixel_ + image.bytes.size() * i, image.bytes.size(),
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
  sha.Update(image_file_);
  sha.Update(labels_);
  return sha.HexDigest();
}

}  // namespace inlier
