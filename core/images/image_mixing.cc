#include "core/images/image_mixing.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace inlier {
namespace {

// Uniform in (0, 1].
double Positive(RandomStream& stream) { return 1 - stream.Uniform(); }

// Box and Muller 1958.
double DrawNormal(RandomStream& stream) {
  const double radius = std::sqrt(-2 * std::log(Positive(stream)));
  return radius * std::cos(2 * std::numbers::pi * stream.Uniform());
}

// The logarithm of a draw from Gamma(alpha, 1): for small alpha the draw itself would vanish.
// Marsaglia and Tsang 2000; alpha < 1 by their Gamma(alpha) = Gamma(alpha + 1) * U^(1 / alpha).
double DrawLogGamma(double alpha, RandomStream& stream) {
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double boost = alpha < 1 ? std::log(Positive(stream)) / alpha : 0;
  while (true) {
    const double x = DrawNormal(stream);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(Positive(stream)) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + boost;
  }
}

}  // namespace

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
