#include "core/images/image_augmentation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/images/image_colors.h"
#include "core/images/image_geometry.h"
#include "core/images/rand_augment.h"

namespace inlier {
namespace {

constexpr double kWidest = 4.0 / 3, kTallest = 3.0 / 4;  // Width over height.
constexpr int kCropDraws = 10;

double Between(double low, double high, RandomStream& stream) {
  return low + (high - low) * stream.Uniform();
}

ResizeFilter FilterOf(v1::AugmentationSpec::Interpolation interpolation, RandomStream& stream) {
  switch (interpolation) {
    case v1::AugmentationSpec::BILINEAR:
      return ResizeFilter::kBilinear;
    case v1::AugmentationSpec::BICUBIC:
      return ResizeFilter::kBicubic;
    case v1::AugmentationSpec::RANDOM:
      break;
  }
  return stream.Below(2) == 0 ? ResizeFilter::kBilinear : ResizeFilter::kBicubic;
}

Image RandomCrop(const Image& image, double smallest_share, RandomStream& stream) {
  const double area = static_cast<double>(image.height) * image.width;
  for (int draw = 0; draw < kCropDraws; ++draw) {
    const double part = area * Between(smallest_share, 1, stream);
    const double ratio = std::exp(Between(std::log(kTallest), std::log(kWidest), stream));
    const auto width = static_cast<int>(std::lround(std::sqrt(part * ratio)));
    const auto height = static_cast<int>(std::lround(std::sqrt(part / ratio)));
    if (width < 1 || height < 1 || width > image.width || height > image.height) continue;
    const auto top = static_cast<int>(stream.Below(image.height - height + 1));
    const auto left = static_cast<int>(stream.Below(image.width - width + 1));
    return Crop(image, top, left, height, width);
  }
  // Wider or taller than any crop may be: the largest crop in its middle.
  const int width = std::min<int>(image.width, static_cast<int>(std::lround(image.height * kWidest)));
  const int height = std::min<int>(image.height, static_cast<int>(std::lround(image.width / kTallest)));
  return Crop(image, (image.height - height) / 2, (image.width - width) / 2, height, width);
}

Image ShiftedCrop(const Image& image, int padding, RandomStream& stream) {
  const auto places = static_cast<std::uint64_t>(2 * padding + 1);
  const auto top = static_cast<int>(stream.Below(places)), left = static_cast<int>(stream.Below(places));
  return Crop(PadWithBlack(image, padding), top, left, image.height, image.width);
}

Image JitterColors(Image image, double strength, RandomStream& stream) {
  using Scale = Image (*)(const Image&, double);
  Scale scales[] = {ScaleBrightness, ScaleContrast, ScaleColor};
  for (std::uint64_t left = 3; left > 1; --left) std::swap(scales[left - 1], scales[stream.Below(left)]);
  for (const Scale scale : scales) image = scale(image, Between(1 - strength, 1 + strength, stream));
  return image;
}

}  // namespace

Image PrepareImage(const Image& image, int side, int channels, double crop) {
  const int shorter_side = std::max(side, static_cast<int>(side / crop));
  return ResizeToMiddle(ToChannels(image, channels), shorter_side, side, ResizeFilter::kBicubic);
}

Image AugmentImage(const Image& image, const v1::AugmentationSpec& spec, int side, int channels,
                   RandomStream& stream) {
  Image result;
  if (spec.has_crop_scale()) {
    const ResizeFilter filter = FilterOf(spec.interpolation(), stream);
    result = Resize(RandomCrop(ToChannels(image, channels), spec.crop_scale(), stream), side, side, filter);
  } else {
    result = PrepareImage(image, side, channels);
  }
  if (spec.crop_padding() > 0) result = ShiftedCrop(result, static_cast<int>(spec.crop_padding()), stream);
  if (spec.horizontal_flip() > 0 && stream.Uniform() < spec.horizontal_flip()) result = Mirror(result);
  if (spec.rand_augment_layers() > 0) result = RandAugment(result, spec, stream);
  if (spec.color_jitter() > 0) result = JitterColors(std::move(result), spec.color_jitter(), stream);
  return result;
}

}  // namespace inlier
