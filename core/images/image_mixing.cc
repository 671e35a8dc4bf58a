#include "core/images/image_mixing.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/random_draws.h"

namespace inlier {

double DrawBeta(double alpha, RandomStream& stream) {
  INLIER_CHECK(alpha > 0);
  const double a = DrawLogGamma(alpha, stream), b = DrawLogGamma(alpha, stream);
  return 1 / (1 + std::exp(b - a));
}

ImageMix DrawImageMix(double mixup_alpha, double cutmix_alpha, int side, RandomStream& stream) {
  INLIER_CHECK(mixup_alpha > 0 || cutmix_alpha > 0);
  const bool cut = mixup_alpha > 0 && cutmix_alpha > 0 ? stream.Below(2) == 1 : cutmix_alpha > 0;
  const double share = DrawBeta(cut ? cutmix_alpha : mixup_alpha, stream);
  if (!cut) return {.kind = ImageMix::Kind::kMixup, .share = share};
  const auto length = static_cast<int>(side * std::sqrt(1 - share));
  const auto y = static_cast<int>(stream.Below(side)), x = static_cast<int>(stream.Below(side));
  const auto within = [side](int place) { return std::clamp(place, 0, side); };
  ImageMix mix{.kind = ImageMix::Kind::kCutmix,
               .share = 1,
               .top = within(y - length / 2),
               .left = within(x - length / 2),
               .bottom = within(y - length / 2 + length),
               .right = within(x - length / 2 + length)};
  const double box = static_cast<double>(mix.bottom - mix.top) * (mix.right - mix.left);
  mix.share = 1 - box / (static_cast<double>(side) * side);
  return mix;
}

}  // namespace inlier
