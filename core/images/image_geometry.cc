#include "core/images/image_geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/check.h"

namespace inlier {
namespace {

std::uint8_t RoundToByte(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// The order of the operations is Pillow's, so that its results come out to the last bit.
double FilterAt(ResizeFilter filter, double x) {
  x = std::abs(x);
  if (filter == ResizeFilter::kBilinear) return x < 1 ? 1 - x : 0;
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

// Weights are fixed-point numbers with this many fractional bits, as in Pillow.
constexpr int kWeightBits = 22;

// One axis of a resize: output pixel i is the sum of weights[i][j] * input pixel begin + first[i] + j.
struct AxisWeights {
  int begin = 0, end = 0;  // Of the input pixels that are read.
  std::vector<int> first;
  std::vector<std::vector<std::int32_t>> weights;
};

// Of `count` output pixels from `from` on, where the whole axis becomes `out` pixels.
AxisWeights WeightsOf(int in, std::int64_t out, std::int64_t from, int count, ResizeFilter filter) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double stretch = std::max(scale, 1.0);
  const double reach = (filter == ResizeFilter::kBilinear ? 1 : 2) * stretch;
  AxisWeights axis;
  for (std::int64_t i = from; i < from + count; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(middle - reach + 0.5));
    const int end = std::min(in, static_cast<int>(middle + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int x = begin; x < end; ++x) {
      weights.push_back(FilterAt(filter, (x - middle + 0.5) * (1 / stretch)));
      sum += weights.back();
    }
    std::vector<std::int32_t>& fixed = axis.weights.emplace_back();
    for (const double weight : weights) {
      fixed.push_back(
          static_cast<std::int32_t>(std::copysign(0.5, weight) + weight / sum * (1 << kWeightBits)));
    }
    if (axis.first.empty()) axis.begin = begin;
    axis.first.push_back(begin - axis.begin);
    axis.end = end;
  }
  return axis;
}

std::uint8_t FixedToByte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp((sum + (1 << (kWeightBits - 1))) >> kWeightBits, 0, 255));
}

Image ResizeRows(const Image& image, const AxisWeights& axis) {
  Image result(image.height, static_cast<int>(axis.first.size()), image.channels);
  for (int y = 0; y < result.height; ++y) {
    std::uint8_t* out = result.At(y, 0);
    for (int x = 0; x < result.width; ++x) {
      const std::uint8_t* in = image.At(y, axis.first[x]);
      std::int32_t sums[3] = {0, 0, 0};
      for (const std::int32_t weight : axis.weights[x]) {
        for (int c = 0; c < image.channels; ++c) sums[c] += weight * *in++;
      }
      for (int c = 0; c < image.channels; ++c) *out++ = FixedToByte(sums[c]);
    }
  }
  return result;
}

Image ResizeColumns(const Image& image, const AxisWeights& axis) {
  Image result(static_cast<int>(axis.first.size()), image.width, image.channels);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(image.width) * image.channels);
  for (int y = 0; y < result.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    const std::uint8_t* in = image.At(axis.first[y], 0);
    for (const std::int32_t weight : axis.weights[y]) {
      for (std::int32_t& sum : sums) sum += weight * *in++;
    }
    std::transform(sums.begin(), sums.end(), result.At(y, 0), FixedToByte);
  }
  return result;
}

struct ResizedSize {
  std::int64_t height, width;
};

struct Box {
  std::int64_t top, left;
  int height, width;
};

// The box of the image that is resized as a whole.
Image ResizePart(const Image& image, const ResizedSize& whole, const Box& part, ResizeFilter filter) {
  INLIER_CHECK(part.height > 0 && part.width > 0 && image.height > 0 && image.width > 0);
  INLIER_CHECK(part.top >= 0 && part.left >= 0 && part.top + part.height <= whole.height &&
               part.left + part.width <= whole.width);
  if (whole.height == image.height && whole.width == image.width)
    return Crop(image, static_cast<int>(part.top), static_cast<int>(part.left), part.height, part.width);
  const AxisWeights x = WeightsOf(image.width, whole.width, part.left, part.width, filter);
  const AxisWeights y = WeightsOf(image.height, whole.height, part.top, part.height, filter);
  const Image read = Crop(image, y.begin, x.begin, y.end - y.begin, x.end - x.begin);
  // The order decides what is rounded. This is that of Pillow 13; before it rows came first always.
  const bool columns_first =
      image.height > whole.height && image.height - whole.height > 2 * (image.width - whole.width);
  return columns_first ? ResizeRows(ResizeColumns(read, y), x) : ResizeColumns(ResizeRows(read, x), y);
}

// The place in the input of an output pixel, about the middle: in = matrix * out + shift, as (x, y).
struct Affine {
  double xx, xy, yx, yy;
  double shift_x, shift_y;
};

Image Transform(const Image& image, const Affine& back) {
  Image result(image.height, image.width, image.channels);
  const double middle_x = (image.width - 1) / 2.0, middle_y = (image.height - 1) / 2.0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double dx = x - middle_x, dy = y - middle_y;
      const double from_x = back.xx * dx + back.xy * dy + back.shift_x + middle_x;
      const double from_y = back.yx * dx + back.yy * dy + back.shift_y + middle_y;
      const double left = std::floor(from_x), top = std::floor(from_y);
      if (left < -1 || top < -1 || left >= image.width || top >= image.height) continue;
      double sum[3] = {0, 0, 0};
      for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 2; ++i) {
          const int at_x = static_cast<int>(left) + i, at_y = static_cast<int>(top) + j;
          if (at_x < 0 || at_y < 0 || at_x >= image.width || at_y >= image.height) continue;
          const double weight = (1 - std::abs(from_x - at_x)) * (1 - std::abs(from_y - at_y));
          const std::uint8_t* pixel = image.At(at_y, at_x);
          for (int c = 0; c < image.channels; ++c) sum[c] += weight * pixel[c];
        }
      }
      std::uint8_t* pixel = result.At(y, x);
      for (int c = 0; c < image.channels; ++c) pixel[c] = RoundToByte(sum[c]);
    }
  }
  return result;
}

}  // namespace

Image Crop(const Image& image, int top, int left, int height, int width) {
  INLIER_CHECK(top >= 0 && left >= 0 && height > 0 && width > 0);
  INLIER_CHECK(top + height <= image.height && left + width <= image.width);
  Image result(height, width, image.channels);
  for (int y = 0; y < height; ++y)
    std::copy_n(image.At(top + y, left), width * image.channels, result.At(y, 0));
  return result;
}

Image PadWithBlack(const Image& image, int pixels) {
  Image result(image.height + 2 * pixels, image.width + 2 * pixels, image.channels);
  for (int y = 0; y < image.height; ++y)
    std::copy_n(image.At(y, 0), image.width * image.channels, result.At(y + pixels, pixels));
  return result;
}

Image Mirror(const Image& image) {
  Image result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x)
      std::copy_n(image.At(y, image.width - 1 - x), image.channels, result.At(y, x));
  }
  return result;
}

Image Resize(const Image& image, int height, int width, ResizeFilter filter) {
  return ResizePart(image, {height, width}, {0, 0, height, width}, filter);
}

Image ResizeToMiddle(const Image& image, int shorter_side, int side, ResizeFilter filter) {
  const int shorter = std::min(image.height, image.width);
  const ResizedSize whole = {std::int64_t{image.height} * shorter_side / shorter,
                             std::int64_t{image.width} * shorter_side / shorter};
  // Half of the rest, a half pixel rounded to even, as torchvision cuts.
  const auto half = [side](std::int64_t length) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(length - side) / 2));
  };
  return ResizePart(image, whole, {half(whole.height), half(whole.width), side, side}, filter);
}

Image Rotate(const Image& image, double degrees) {
  const double angle = degrees * std::numbers::pi / 180, cosine = std::cos(angle), sine = std::sin(angle);
  // Down is positive, so this clockwise turn undoes a counter-clockwise turn of the image.
  return Transform(image, {.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine, .shift_x = 0, .shift_y = 0});
}

Image Shear(const Image& image, double along_x, double along_y) {
  INLIER_CHECK(along_x == 0 || along_y == 0);
  return Transform(image, {.xx = 1, .xy = -along_x, .yx = -along_y, .yy = 1, .shift_x = 0, .shift_y = 0});
}

Image Translate(const Image& image, double right, double down) {
  return Transform(image, {.xx = 1, .xy = 0, .yx = 0, .yy = 1, .shift_x = -right, .shift_y = -down});
}

}  // namespace inlier
