// Operations on an image's pixel values. Factors: 1 leaves an image unchanged.
#ifndef INLIER_CORE_IMAGES_IMAGE_COLORS_H_
#define INLIER_CORE_IMAGES_IMAGE_COLORS_H_

#include "core/images/image.h"

namespace inlier {

// Grey becomes three equal channels; colours become their luma, 0.299 r + 0.587 g + 0.114 b.
// REQUIRES: both have 1 or 3.
Image ToChannels(const Image& image, int channels);

Image Invert(const Image& image);
// Inverts the values from `threshold` on; none at 256.
Image Solarize(const Image& image, int threshold);
// Adds `amount` to the values below 128.
Image SolarizeAdd(const Image& image, int amount);
// Keeps the upper `bits` of each value. REQUIRES: 0 <= bits <= 8.
Image Posterize(const Image& image, int bits);

// Stretches each channel so that its smallest value becomes 0 and its largest 255; a constant channel is unchanged.
Image Autocontrast(const Image& image);
// Spreads each channel's values so that all are about equally frequent (Pillow's way, which excludes the
// pixels of the most frequent largest value from the step).
Image Equalize(const Image& image);

// other + factor * (image - other), rounded and cut to [0, 255], where other is black, the image's mean luma (rounded),
// its luma (a grey image stays as it is), or itself smoothed: (the sum of a pixel's eight neighbours + 5 * the pixel) /
// 13; its border stays.
Image ScaleBrightness(const Image& image, double factor);
Image ScaleContrast(const Image& image, double factor);
Image ScaleColor(const Image& image, double factor);
Image ScaleSharpness(const Image& image, double factor);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_COLORS_H_
