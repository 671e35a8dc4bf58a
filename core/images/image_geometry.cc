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

double FilterAt(ResizeFilter filter, double x) {
  x = std::abs(x);
  if (filter == ResizeFilter::kBilinear) return x < 1 ? 1 - x : 0;
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * kA - 4 * kA;
  return 0;
}

// One axis of a resize: output pixel i is the sum of weights[i][j] * input pixel first[i] + j.
struct AxisWeights {
  std::vector<int> first;
  std::vector<std::vector<float>> weights;
};

AxisWeights WeightsOf(int in, int out, ResizeFilter filter) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double reach = (filter == ResizeFilter::kBilinear ? 1 : 2) * stretch;
  AxisWeights axis;
  for (int i = 0; i < out; ++i) {
    const double middle = (i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(middle - reach + 0.5));
    const int end = std::min(in, static_cast<int>(middle + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int x = begin; x < end; ++x) {
      weights.push_back(FilterAt(filter, (x + 0.5 - middle) / stretch));
      sum += weights.back();
    }
    std::vector<float> normal;
    for (const double weight : weights) normal.push_back(static_cast<float>(weight / sum));
    axis.first.push_back(begin);
    axis.weights.push_back(std::move(normal));
  }
  return axis;
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
  INLIER_CHECK(height > 0 && width > 0 && image.height > 0 && image.width > 0);
  if (height == image.height && width == image.width) return image;
  const int channels = image.channels;
  const AxisWeights along_x = WeightsOf(image.width, width, filter);
  const AxisWeights along_y = WeightsOf(image.height, height, filter);
  const std::size_t row = static_cast<std::size_t>(width) * channels;
  // Rows first: (image.height, width, channels).
  std::vector<float> narrow(row * image.height, 0.f);
  for (int y = 0; y < image.height; ++y) {
    float* out = &narrow[row * y];
    for (int x = 0; x < width; ++x, out += channels) {
      const std::uint8_t* in = image.At(y, along_x.first[x]);
      for (const float weight : along_x.weights[x]) {
        for (int c = 0; c < channels; ++c) out[c] += weight * static_cast<float>(*in++);
      }
    }
  }
  Image result(height, width, channels);
  std::vector<float> sums(row);
  for (int y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), 0.f);
    const float* in = &narrow[row * along_y.first[y]];
    for (const float weight : along_y.weights[y]) {
      for (std::size_t i = 0; i < row; ++i) sums[i] += weight * in[i];
      in += row;
    }
    std::uint8_t* out = result.At(y, 0);
    for (std::size_t i = 0; i < row; ++i) out[i] = RoundToByte(sums[i]);
  }
  return result;
}

Image ResizeShorterSide(const Image& image, int side, ResizeFilter filter) {
  const int shorter = std::min(image.height, image.width);
  const auto scaled = [&](int length) {
    return static_cast<int>(static_cast<std::int64_t>(length) * side / shorter);
  };
  return Resize(image, scaled(image.height), scaled(image.width), filter);
}

Image CutMiddle(const Image& image, int side) {
  if (image.height == side && image.width == side) return image;
  return Crop(image, (image.height - side) / 2, (image.width - side) / 2, side, side);
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
