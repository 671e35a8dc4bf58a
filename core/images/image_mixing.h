// How the images of a batch are mixed with each other: drawn here, applied by the owner of the tensors.
#ifndef INLIER_CORE_IMAGES_IMAGE_MIXING_H_
#define INLIER_CORE_IMAGES_IMAGE_MIXING_H_

#include "base/random_stream.h"

namespace inlier {

// Each image x with label y is mixed with another x', y'; labels become share * y + (1 - share) * y'.
struct ImageMix {
  enum class Kind {
    kMixup,   // share * x + (1 - share) * x'.   (Zhang et al. 2018)
    kCutmix,  // x with the box of x' put into it; 1 - share is the box's part of the area.   (Yun et al. 2019)
  };
  Kind kind;
  double share;
  // kCutmix only: pixels, the lower and right ends outside. The box may be empty.
  int top = 0, left = 0, bottom = 0, right = 0;
};

// One draw for a batch of images of side x side. With both alphas above 0 one of the two is drawn, evenly.
// The share comes from Beta(alpha, alpha); cutmix' box has that area, a place drawn evenly for its middle,
// and is cut at the image's borders, which raises the share. REQUIRES: an alpha is above 0.
ImageMix DrawImageMix(double mixup_alpha, double cutmix_alpha, int side, RandomStream& stream);

// Beta(alpha, alpha) in [0, 1]. REQUIRES: alpha > 0.
double DrawBeta(double alpha, RandomStream& stream);

}  // namespace inlier

#endif  // INLIER_CORE_IMAGES_IMAGE_MIXING_H_
