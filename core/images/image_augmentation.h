// An image as the model's input: always the same in validation, drawn by the trial's augmentation in training.
#ifndef INLIER_CORE_IMAGES_IMAGE_AUGMENTATION_H_
#define INLIER_CORE_IMAGES_IMAGE_AUGMENTATION_H_

#include "base/random_stream.h"
#include "core/images/image.h"
#include "inlier/v1/data_spec.pb.h"

namespace inlier {

// `channels`; the shorter side scaled to floor(side / crop) (bicubic), and the square of `side` in the middle.
// REQUIRES: 0 < crop <= 1.
Image PrepareImage(const Image& image, int side, int channels, double crop = 1);

// side x side x channels. In this order, each only where `spec` asks for it, and drawn from `stream`:
//   1. a crop of the image's own pixels with a share of the area in [crop_scale, 1] and a ratio of width to
//      height in [3/4, 4/3], both uniform (the ratio's logarithm), resized by `interpolation` to the square
//      (as Inception, Szegedy et al. 2015; after ten draws that do not fit, the largest crop in the middle);
//      without crop_scale the image as PrepareImage makes it;
//   2. crop_padding;  3. a mirror image;  4. RandAugment (rand_augment.h);
//   5. color_jitter, with RandAugment too: brightness, contrast and saturation in an order that is drawn too.
Image AugmentImage(const Image& image, const v1::AugmentationSpec& spec, int side, int channels,
                   RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_AUGMENTATION_H_
