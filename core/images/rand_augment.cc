#include "core/images/rand_augment.h"

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
  }
  INLIER_CHECK(false);
}

Image RandAugment(const Image& image, int layers, double magnitude, RandomStream& stream) {
  Image result = image;
  for (int layer = 0; layer < layers; ++layer) {
    const auto operation = static_cast<RandAugmentOperation>(stream.Below(kRandAugmentOperations));
    const bool negative = stream.Below(2) == 1;
    result = ApplyRandAugment(result, operation, magnitude, negative);
  }
  return result;
}

}  // namespace inlier
