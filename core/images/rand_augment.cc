#include "core/images/rand_augment.h"

#include <array>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "core/images/image_colors.h"
#include "core/images/image_geometry.h"

namespace inlier {

Image ApplyRandAugment(const Image& image, RandAugmentOperation operation, double magnitude, bool negative) {
  using enum RandAugmentOperation;
  const double share = magnitude / 10, way = negative ? -share : share;
  switch (operation) {
    case kAutocontrast:
      return Autocontrast(image);
    case kEqualize:
      return Equalize(image);
    case kInvert:
      return Invert(image);
    case kRotate:
      return Rotate(image, 30 * way);
    case kPosterize:
      return Posterize(image, 8 - static_cast<int>(std::lround(4 * share)));
    case kSolarize:
      return Solarize(image, static_cast<int>(std::lround(256 * (1 - share))));
    case kColor:
      return ScaleColor(image, 1 + 0.9 * way);
    case kContrast:
      return ScaleContrast(image, 1 + 0.9 * way);
    case kBrightness:
      return ScaleBrightness(image, 1 + 0.9 * way);
    case kSharpness:
      return ScaleSharpness(image, 1 + 0.9 * way);
    case kShearX:
      return Shear(image, 0.3 * way, 0);
    case kShearY:
      return Shear(image, 0, 0.3 * way);
    case kTranslateX:
      return Translate(image, 0.45 * way * image.width, 0);
    case kTranslateY:
      return Translate(image, 0, 0.45 * way * image.height);
    case kSolarizeAdd:
      return SolarizeAdd(image, static_cast<int>(110 * share));
    case kPosterizeOfTimm:
      return Posterize(image, 4 - static_cast<int>(4 * share));
  }
  INLIER_CHECK(false);
}

std::span<const RandAugmentOperation> OperationsOf(v1::AugmentationSpec::RandAugmentOperations list) {
  using enum RandAugmentOperation;
  static constexpr std::array kTorchvision = {kAutocontrast, kEqualize, kInvert,     kRotate,     kPosterize,
                                              kSolarize,     kColor,    kContrast,   kBrightness, kSharpness,
                                              kShearX,       kShearY,   kTranslateX, kTranslateY};
  static constexpr std::array kTimm = {kAutocontrast, kEqualize, kInvert,     kRotate,     kPosterizeOfTimm,
                                       kSolarize,     kColor,    kContrast,   kBrightness, kSharpness,
                                       kShearX,       kShearY,   kTranslateX, kTranslateY, kSolarizeAdd};
  if (list == v1::AugmentationSpec::TIMM) return kTimm;
  return kTorchvision;
}

Image RandAugment(const Image& image, const v1::AugmentationSpec& spec, RandomStream& stream) {
  const std::span operations = OperationsOf(spec.rand_augment_operations());
  Image result = image;
  for (std::uint32_t layer = 0; layer < spec.rand_augment_layers(); ++layer) {
    const RandAugmentOperation operation = operations[stream.Below(operations.size())];
    const bool negative = stream.Below(2) == 1;
    const double chance = spec.rand_augment_probability();
    if (chance < 1 && stream.Uniform() >= chance) continue;
    result = ApplyRandAugment(result, operation, spec.rand_augment_magnitude(), negative);
  }
  return result;
}

}  // namespace inlier
