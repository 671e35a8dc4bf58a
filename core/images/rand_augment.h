// RandAugment: a few operations on an image, drawn from a fixed list, all of the same strength.
//                                                                      (Cubuk et al. 2020, NeurIPS workshop)
//
// The list is that of the authors' code less its own two (cutout and solarize-add). The meaning of a strength
// of m, where the code and the paper leave it open, is torchvision's:
//
//   autocontrast, equalize, invert   have no strength
//   rotate          by 30 degrees * m / 10, either way
//   posterize       keeps 8 - round(4 m / 10) bits
//   solarize        from 256 (1 - m / 10) on
//   colour, contrast, brightness, sharpness   by the factor 1 + 0.9 m / 10 or 1 - 0.9 m / 10
//   shear x, y      by 0.3 m / 10, either way
//   translate x, y  by 0.45 m / 10 of the side, either way
//
// Thread safety: pure functions.
#ifndef INLIER_CORE_IMAGES_RAND_AUGMENT_H_
#define INLIER_CORE_IMAGES_RAND_AUGMENT_H_

#include "base/random_stream.h"
#include "core/images/image.h"

namespace inlier {

enum class RandAugmentOperation {
  kAutocontrast,
  kEqualize,
  kInvert,
  kRotate,
  kPosterize,
  kSolarize,
  kColor,
  kContrast,
  kBrightness,
  kSharpness,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
};
inline constexpr int kRandAugmentOperations = 14;

// One operation of strength `magnitude` (0 to 10); `negative`: the opposite direction, where it has two.
Image ApplyRandAugment(const Image& image, RandAugmentOperation operation, double magnitude, bool negative);

// `layers` operations one after the other, each drawn with its direction.
Image RandAugment(const Image& image, int layers, double magnitude, RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_RAND_AUGMENT_H_
