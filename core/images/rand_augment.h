// RandAugment: a few operations on an image, drawn from a fixed list, all of the same strength.
//                                                                      (Cubuk et al. 2020, NeurIPS workshop)
//
// The list is that of the authors' code less its own two (cutout and solarize-add); timm's has solarize-add,
// and its own posterize. The meaning of a strength of m, where the code and the paper leave it open, is
// torchvision's:
//
//   autocontrast, equalize, invert   have no strength
//   rotate          by 30 degrees * m / 10, either way
//   posterize       keeps 8 - round(4 m / 10) bits; timm's: 4 - floor(4 m / 10)
//   solarize        from 256 (1 - m / 10) on
//   solarize-add    adds floor(110 m / 10) to values below 128
//   colour, contrast, brightness, sharpness   by the factor 1 + 0.9 m / 10 or 1 - 0.9 m / 10
//   shear x, y      by 0.3 m / 10, either way
//   translate x, y  by 0.45 m / 10 of the side, either way
#ifndef INLIER_CORE_IMAGES_RAND_AUGMENT_H_
#define INLIER_CORE_IMAGES_RAND_AUGMENT_H_

#include <span>

#include "base/random_stream.h"
#include "core/images/image.h"
#include "inlier/v1/data_spec.pb.h"

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
  // timm's alone.
  kSolarizeAdd,
  kPosterizeOfTimm,
};

// The operations that one is drawn from, by its place.
std::span<const RandAugmentOperation> OperationsOf(v1::AugmentationSpec::RandAugmentOperations list);

// One operation of strength `magnitude` (0 to 10); `negative`: the opposite direction, where it has two.
Image ApplyRandAugment(const Image& image, RandAugmentOperation operation, double magnitude, bool negative);

// rand_augment_layers operations one after the other, each drawn with its direction and applied with the chance
// rand_augment_probability, as timm does.
Image RandAugment(const Image& image, const v1::AugmentationSpec& spec, RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_RAND_AUGMENT_H_
