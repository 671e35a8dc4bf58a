#include "core/images/image_colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/check.h"

namespace inlier {
namespace {

using Values = std::array<std::uint8_t, 256>;     // The new value of each value.
using Histogram = std::array<std::int64_t, 256>;  // The count of each value.

// ITU-R 601 in 16 fractional bits; the weights sum to 1.
std::uint8_t Luma(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >> 16);
}

template <typename Function>
Image MapValues(const Image& image, Function function) {
  Image result = image;
  for (std::uint8_t& value : result.bytes) value = function(value);
  return result;
}

// Replaces the values of each channel by `values_of` its histogram.
template <typename ValuesOf>
Image MapChannels(const Image& image, ValuesOf values_of) {
  Image result = image;
  for (int c = 0; c < image.channels; ++c) {
    Histogram histogram = {};
    for (std::size_t i = c; i < image.bytes.size(); i += image.channels) ++histogram[image.bytes[i]];
    const Values values = values_of(histogram);
    for (std::size_t i = c; i < image.bytes.size(); i += image.channels)
      result.bytes[i] = values[image.bytes[i]];
  }
  return result;
}

Values Unchanged() {
  Values values;
  for (int value = 0; value < 256; ++value) values[value] = static_cast<std::uint8_t>(value);
  return values;
}

std::uint8_t Blended(double other, double value, double factor) {
  return static_cast<std::uint8_t>(
      std::clamp(std::floor(other + factor * (value - other) + 0.5), 0.0, 255.0));
}

Image Smoothed(const Image& image) {
  Image result = image;
  for (int y = 1; y + 1 < image.height; ++y) {
    for (int x = 1; x + 1 < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        int sum = 4 * image.At(y, x)[c];
        for (int j = -1; j <= 1; ++j) {
          for (int i = -1; i <= 1; ++i) sum += image.At(y + j, x + i)[c];
        }
        result.At(y, x)[c] = static_cast<std::uint8_t>((2 * sum + 13) / 26);
      }
    }
  }
  return result;
}

}  // namespace

Image ToChannels(const Image& image, int channels) {
  if (image.channels == channels) return image;
  INLIER_CHECK((channels == 1 && image.channels == 3) || (channels == 3 && image.channels == 1));
  Image result(image.height, image.width, channels);
  const std::size_t pixels = static_cast<std::size_t>(image.height) * image.width;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    if (channels == 1) {
      result.bytes[pixel] = Luma(&image.bytes[3 * pixel]);
    } else {
      std::fill_n(&result.bytes[3 * pixel], 3, image.bytes[pixel]);
    }
  }
  return result;
}

Image Invert(const Image& image) {
  return MapValues(image, [](std::uint8_t value) { return static_cast<std::uint8_t>(255 - value); });
}

Image Solarize(const Image& image, int threshold) {
  return MapValues(image, [threshold](std::uint8_t value) {
    return value < threshold ? value : static_cast<std::uint8_t>(255 - value);
  });
}

Image SolarizeAdd(const Image& image, int amount) {
  return MapValues(image, [amount](std::uint8_t value) {
    return value < 128 ? static_cast<std::uint8_t>(std::clamp(value + amount, 0, 255)) : value;
  });
}

Image Posterize(const Image& image, int bits) {
  INLIER_CHECK(bits >= 0 && bits <= 8);
  const auto kept = static_cast<std::uint8_t>(0xff00 >> bits);
  return MapValues(image, [kept](std::uint8_t value) { return static_cast<std::uint8_t>(value & kept); });
}

Image Autocontrast(const Image& image) {
  return MapChannels(image, [](const Histogram& histogram) {
    Values values = Unchanged();
    int low = 0, high = 255;
    while (low < 255 && histogram[low] == 0) ++low;
    while (high > 0 && histogram[high] == 0) --high;
    if (low >= high) return values;
    for (int value = low; value <= high; ++value)
      values[value] = static_cast<std::uint8_t>(255 * (value - low) / (high - low));
    return values;
  });
}

Image Equalize(const Image& image) {
  return MapChannels(image, [](const Histogram& histogram) {
    Values values = Unchanged();
    std::int64_t all = 0, last = 0;
    for (const std::int64_t count : histogram) {
      all += count;
      if (count > 0) last = count;
    }
    const std::int64_t step = (all - last) / 255;
    if (step == 0) return values;
    std::int64_t sum = step / 2;
    for (int value = 0; value < 256; ++value) {
      values[value] = static_cast<std::uint8_t>(std::min<std::int64_t>(sum / step, 255));
      sum += histogram[value];
    }
    return values;
  });
}

Image ScaleBrightness(const Image& image, double factor) {
  return MapValues(image, [factor](std::uint8_t value) { return Blended(0, value, factor); });
}

Image ScaleContrast(const Image& image, double factor) {
  const Image grey = ToChannels(image, 1);
  double sum = 0;
  for (const std::uint8_t value : grey.bytes) sum += value;
  const double mean = std::floor(sum / static_cast<double>(grey.bytes.size()) + 0.5);
  return MapValues(image, [=](std::uint8_t value) { return Blended(mean, value, factor); });
}

Image ScaleColor(const Image& image, double factor) {
  if (image.channels == 1) return image;
  Image result = image;
  for (std::size_t i = 0; i < result.bytes.size(); i += 3) {
    const double grey = Luma(&image.bytes[i]);
    for (int c = 0; c < 3; ++c) result.bytes[i + c] = Blended(grey, image.bytes[i + c], factor);
  }
  return result;
}

Image ScaleSharpness(const Image& image, double factor) {
  Image result = Smoothed(image);
  for (std::size_t i = 0; i < result.bytes.size(); ++i)
    result.bytes[i] = Blended(result.bytes[i], image.bytes[i], factor);
  return result;
}

}  // namespace inlier
