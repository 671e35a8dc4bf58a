#include "core/images/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/images/decode_budget.h"

namespace inlier {
namespace {

constexpr std::int64_t kPhotographPixels = std::int64_t{1} << 26;
constexpr std::int64_t kDecodeBytesMax = std::int64_t{1} << 30;
// Red, green and blue; of a JPEG also the coefficients of a progressive one and four inks.
constexpr std::int64_t kPngBytesPerPixel = 4;
constexpr std::int64_t kJpegBytesPerPixel = 16;

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegMagic = "\xff\xd8\xff";

absl::Status Damaged(const char* format, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("a damaged ", format, " (", reason, ")"));
}

absl::Status CheckSize(std::int64_t width, std::int64_t height, std::int64_t pixels_max) {
  if (width > 0 && height > 0 && height <= pixels_max / width) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an image of ", width, "x", height, " pixels; at most ", pixels_max,
                   " are supported at the model's image_size: make it smaller"));
}

DecodeBudget& Budget() {
  static DecodeBudget budget(kDecodeBytesMax);
  return budget;
}

// libpng's message without the name of the chunk before it, which is of the file: "CRC error".
std::string PngReason(const png_image& image) {
  const std::string message = image.message;
  const std::size_t colon = message.rfind(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

// libpng's reader of one file. It reports errors by return values, not by jumps.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) {
    std::memset(&image_, 0, sizeof(image_));
    image_.version = PNG_IMAGE_VERSION;
    open_ = png_image_begin_read_from_memory(&image_, bytes.data(), bytes.size()) != 0;
  }
  ~PngReader() { png_image_free(&image_); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  absl::Status CheckHeader(std::int64_t pixels_max) const {
    if (!open_) return Damaged("PNG", PngReason(image_));
    return CheckSize(image_.width, image_.height, pixels_max);
  }

  absl::StatusOr<Image> Read(std::int64_t pixels_max) {
    RETURN_IF_ERROR(CheckHeader(pixels_max));
    std::shared_ptr<const void> reservation =
        Budget().Reserve(std::int64_t{image_.width} * image_.height * kPngBytesPerPixel);
    const bool color = (image_.format & PNG_FORMAT_FLAG_COLOR) != 0;
    image_.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    Image image(static_cast<int>(image_.height), static_cast<int>(image_.width), color ? 3 : 1);
    image.reservation = std::move(reservation);
    const png_color black = {0, 0, 0};
    if (png_image_finish_read(&image_, &black, image.bytes.data(), /*row_stride=*/0, nullptr) == 0)
      return Damaged("PNG", PngReason(image_));
    return image;
  }

 private:
  png_image image_;
  bool open_;
};

class JpegReader {
 public:
  explicit JpegReader(std::string_view bytes) : bytes_(bytes), handle_(tjInitDecompress()) {
    open_ = handle_ != nullptr && tjDecompressHeader3(handle_.get(), Data(), bytes_.size(), &width_, &height_,
                                                      &sampling_, &colors_) == 0;
  }

  absl::Status CheckHeader(std::int64_t pixels_max) const {
    if (!open_) return Damaged("JPEG", "its header cannot be read");
    if (width_ == 0 || height_ == 0) return Damaged("JPEG", "its header has no size");
    return CheckSize(width_, height_, pixels_max);
  }

  absl::StatusOr<Image> Read(std::int64_t pixels_max) {
    RETURN_IF_ERROR(CheckHeader(pixels_max));
    std::shared_ptr<const void> reservation =
        Budget().Reserve(std::int64_t{width_} * height_ * kJpegBytesPerPixel);
    absl::StatusOr<Image> image = colors_ == TJCS_CMYK || colors_ == TJCS_YCCK ? ReadInks() : ReadColours();
    if (image.ok()) image->reservation = std::move(reservation);
    return image;
  }

 private:
  struct Destroy {
    void operator()(void* handle) const { tjDestroy(handle); }
  };

  const unsigned char* Data() const { return reinterpret_cast<const unsigned char*>(bytes_.data()); }

  absl::Status Decompress(std::uint8_t* pixels, int format) {
    if (tjDecompress2(handle_.get(), Data(), bytes_.size(), pixels, width_, /*pitch=*/0, height_, format,
                      TJFLAG_ACCURATEDCT) == 0)
      return absl::OkStatus();
    // The library's message may hold bytes of the file. Cameras write files with a few bytes too many, which
    // every reader accepts; a missing part is filled with grey.
    const bool ends_early =
        std::string_view(tjGetErrorStr2(handle_.get())).find("remature end") != std::string_view::npos;
    if (tjGetErrorCode(handle_.get()) == TJERR_WARNING && !ends_early) return absl::OkStatus();
    return Damaged("JPEG", ends_early ? "premature end" : "its data cannot be decoded");
  }

  absl::StatusOr<Image> ReadColours() {
    const bool grey = colors_ == TJCS_GRAY;
    Image image(height_, width_, grey ? 1 : 3);
    RETURN_IF_ERROR(Decompress(image.bytes.data(), grey ? TJPF_GRAY : TJPF_RGB));
    return image;
  }

  // Four inks, stored inverted as Adobe's programs do: 255 is no ink.
  absl::StatusOr<Image> ReadInks() {
    std::vector<std::uint8_t> inks(static_cast<std::size_t>(height_) * width_ * 4);
    RETURN_IF_ERROR(Decompress(inks.data(), TJPF_CMYK));
    Image image(height_, width_, 3);
    for (std::size_t pixel = 0; pixel < inks.size() / 4; ++pixel) {
      const int black = inks[4 * pixel + 3];
      for (int c = 0; c < 3; ++c)
        image.bytes[3 * pixel + c] = static_cast<std::uint8_t>((inks[4 * pixel + c] * black + 127) / 255);
    }
    return image;
  }

  const std::string_view bytes_;
  const std::unique_ptr<void, Destroy> handle_;
  bool open_;
  int width_ = 0;
  int height_ = 0;
  int sampling_ = 0;
  int colors_ = 0;
};

absl::Status NoImage() {
  return absl::InvalidArgumentError(
      "neither a PNG nor a JPEG: convert it to one of them, or take it out of the folder");
}

}  // namespace

std::int64_t PixelsMax(std::int64_t image_size) {
  constexpr std::int64_t kPixelsOfEach = 1024;
  if (image_size * image_size >= kImagePixelsMax / kPixelsOfEach) return kImagePixelsMax;
  return std::max(kPixelsOfEach * image_size * image_size, kPhotographPixels);
}

absl::Status CheckImageHeader(std::string_view bytes, std::int64_t pixels_max) {
  if (bytes.starts_with(kPngMagic)) return PngReader(bytes).CheckHeader(pixels_max);
  if (bytes.starts_with(kJpegMagic)) return JpegReader(bytes).CheckHeader(pixels_max);
  return NoImage();
}

absl::StatusOr<Image> DecodeImage(std::string_view bytes, std::int64_t pixels_max) {
  if (bytes.starts_with(kPngMagic)) return PngReader(bytes).Read(pixels_max);
  if (bytes.starts_with(kJpegMagic)) return JpegReader(bytes).Read(pixels_max);
  return NoImage();
}

}  // namespace inlier
