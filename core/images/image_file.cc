#include "core/images/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/images/decode_budget.h"
#include "spec/data/image_files.h"

namespace inlier {
namespace {

constexpr std::int64_t kPhotographPixels = std::int64_t{1} << 26;
constexpr std::int64_t kDecodeBytesMax = std::int64_t{1} << 30;
// Red, green and blue; of a JPEG also the coefficients of a progressive one and four inks.
constexpr std::int64_t kPngBytesPerPixel = 4;
constexpr std::int64_t kJpegBytesPerPixel = 16;

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

// libpng's reader of one file. Its values are the stored ones: no gamma, colour profile or background is
// applied, and of sixteen bits the high byte stays, as in Pillow.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, [](png_structp, png_const_charp) {});
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) return;
    open_ = Try([this] {
      png_set_read_fn(png_, this, ReadBytes);
      png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, /*num_chunks=*/-1);
      png_read_info(png_, info_);
    });
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  absl::Status CheckHeader(std::int64_t pixels_max) const {
    if (!open_) return Damaged("PNG", reason_);
    return CheckSize(Width(), Height(), pixels_max);
  }

  absl::StatusOr<Image> Read(std::int64_t pixels_max) {
    RETURN_IF_ERROR(CheckHeader(pixels_max));
    std::shared_ptr<const void> reservation =
        Budget().Reserve(std::int64_t{Width()} * Height() * kPngBytesPerPixel);
    const int type = png_get_color_type(png_, info_);
    const bool wide_grey = type == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png_, info_) == 16;
    const int channels = (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    // Sixteen bits of grey: two bytes for each pixel, the high one first.
    Image image(static_cast<int>(Height()), static_cast<int>(Width()), wide_grey ? 2 : channels);
    image.reservation = std::move(reservation);
    std::vector<png_bytep> rows;
    for (int y = 0; y < image.height; ++y) rows.push_back(image.At(y, 0));
    const bool read = Try([&] {
      if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
      if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
      if (!wide_grey) png_set_strip_16(png_);
      png_set_strip_alpha(png_);
      png_read_image(png_, rows.data());
    });
    if (!read) return Damaged("PNG", reason_);
    return wide_grey ? Clipped(image) : image;
  }

 private:
  std::uint32_t Width() const { return png_get_image_width(png_, info_); }
  std::uint32_t Height() const { return png_get_image_height(png_, info_); }

  // Calls libpng, which jumps back here at an error. REQUIRES: `calls` has no local object with a destructor.
  template <typename Calls>
  bool Try(const Calls& calls) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    calls();
    return true;
  }

  // The message without the name of the chunk before it, which is of the file: "CRC error".
  static void OnError(png_structp png, png_const_charp message) {
    const std::size_t colon = std::string_view(message).rfind(": ");
    std::snprintf(static_cast<PngReader*>(png_get_error_ptr(png))->reason_, kReasonBytes, "%s",
                  colon == std::string_view::npos ? message : message + colon + 2);
    png_longjmp(png, 1);
  }

  static void ReadBytes(png_structp png, png_bytep out, std::size_t size) {
    std::string_view& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (size > rest.size()) png_error(png, "premature end");
    std::memcpy(out, rest.data(), size);
    rest.remove_prefix(size);
  }

  // As Pillow's convert: a value above 255 is white.
  static Image Clipped(const Image& wide) {
    Image image(wide.height, wide.width, 1);
    image.reservation = wide.reservation;
    for (std::size_t i = 0; i < image.bytes.size(); ++i)
      image.bytes[i] = wide.bytes[2 * i] != 0 ? 255 : wide.bytes[2 * i + 1];
    return image;
  }

  static constexpr std::size_t kReasonBytes = 80;
  std::string_view rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  bool open_ = false;
  char reason_[kReasonBytes] = "no memory";
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
