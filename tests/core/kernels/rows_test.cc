// Norms, residual sums, column sums and powers against plain loops in double; their gradients against central
// differences.
#include "core/kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/kernels/dropout.h"
#include "tests/core/kernels/numbers.h"

namespace inlier::kernels {
namespace {

constexpr NormKind kNorms[] = {NormKind::kLayerNorm, NormKind::kRmsPerChannel, NormKind::kRmsSingle};

std::string Name(NormKind kind) {
  return kind == NormKind::kLayerNorm   ? "LayerNorm"
         : kind == NormKind::kRmsSingle ? "RMS single"
                                        : "RMS per channel";
}

// A norm of `width` and rows for it.
template <typename R>
struct NormCase {
  NormCase(NormKind kind, std::int64_t rows, std::int64_t width)
      : kind(kind),
        rows(rows),
        width(width),
        gain(Numbers<R>(kind == NormKind::kRmsSingle ? 1 : width, 1)),
        offset(Numbers<R>(width, 2)),
        x(Numbers<R>(rows * width, 3)) {}

  NormWeights<R> weights() const {
    return {kind, R(1e-3), gain.data(), kind == NormKind::kLayerNorm ? offset.data() : nullptr};
  }
  // y, by the definition.
  std::vector<double> Expected() const {
    std::vector<double> y;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto begin = x.begin() + r * width;
      const double mean =
          kind == NormKind::kLayerNorm ? std::accumulate(begin, begin + width, 0.0) / width : 0;
      double square = 0;
      for (std::int64_t c = 0; c < width; ++c) square += (begin[c] - mean) * (begin[c] - mean) / width;
      for (std::int64_t c = 0; c < width; ++c) {
        const double normal = (begin[c] - mean) / std::sqrt(square + 1e-3);
        y.push_back(normal * gain[kind == NormKind::kRmsSingle ? 0 : c] +
                    (kind == NormKind::kLayerNorm ? offset[c] : 0));
      }
    }
    return y;
  }

  NormKind kind;
  std::int64_t rows, width;
  std::vector<R> gain, offset, x;
};

template <typename R>
struct NormGradients {
  std::vector<R> dx, gain, offset;
};

// The gradients that belong to dy, added to `start`; dx takes the place of dy.
template <typename R>
NormGradients<R> Backward(const NormCase<R>& norm, const std::vector<R>& dy, R start) {
  std::vector<R> mean(norm.rows), inverse(norm.rows);
  NormForward<R>(norm.weights(), norm.rows, norm.width, norm.x.data(), nullptr, nullptr, mean.data(),
                 inverse.data());
  NormGradients<R> gradients{dy, std::vector<R>(norm.gain.size(), start), std::vector<R>(norm.width, start)};
  NormBackward<R>(norm.weights(), norm.rows, norm.width, norm.x.data(), mean.data(), inverse.data(),
                  gradients.dx.data(), gradients.dx.data(), gradients.gain.data(),
                  norm.kind == NormKind::kLayerNorm ? gradients.offset.data() : nullptr);
  return gradients;
}

template <typename T>
class Rows : public ::testing::Test {};
TYPED_TEST_SUITE(Rows, Elements);

TYPED_TEST(Rows, NormForwardIsTheDefinition) {
  using R = Real<TypeParam>;
  for (const NormKind kind : kNorms) {
    for (const std::int64_t width : kWidths) {
      const NormCase<R> norm(kind, 3, width);
      std::vector<R> y(3 * width), only_y(3 * width), mean(3), inverse(3);
      std::vector<TypeParam> operand(3 * width), only_operand(3 * width);
      NormForward<TypeParam>(norm.weights(), 3, width, norm.x.data(), y.data(), operand.data(), mean.data(),
                             inverse.data());
      NormForward<TypeParam>(norm.weights(), 3, width, norm.x.data(), only_y.data(), nullptr, mean.data(),
                             inverse.data());
      NormForward<TypeParam>(norm.weights(), 3, width, norm.x.data(), nullptr, only_operand.data(),
                             mean.data(), inverse.data());
      ExpectNear(y, norm.Expected(), Name(kind));
      ExpectNear(operand, norm.Expected(), Name(kind));
      EXPECT_EQ(y, only_y);
      EXPECT_EQ(Widened(operand), Widened(only_operand));
    }
  }
}

TEST(NormBackward, IsTheGradient) {
  for (const NormKind kind : kNorms) {
    for (const std::int64_t width : {2, 7, 65}) {
      NormCase<double> norm(kind, 3, width);
      const std::vector<double> dy = Numbers<double>(3 * width, 4);
      const NormGradients<double> gradients = Backward(norm, dy, 5.0);
      const auto loss = [&] { return Dot(norm.Expected(), dy); };
      const auto plus_start = [](std::vector<double> slopes) {
        for (double& x : slopes) x += 5;  // Gradients are added to those of earlier rows.
        return slopes;
      };
      ExpectNear(gradients.dx, Differences(norm.x, loss), Name(kind), kDifferenceTolerance);
      ExpectNear(gradients.gain, plus_start(Differences(norm.gain, loss)), Name(kind), kDifferenceTolerance);
      ExpectNear(gradients.offset, plus_start(Differences(norm.offset, loss)), Name(kind),
                 kDifferenceTolerance);
    }
  }
}

TEST(NormBackward, IsTheSameInFloatOnEveryWidth) {
  for (const NormKind kind : kNorms) {
    for (const std::int64_t width : kWidths) {
      const NormCase<float> narrow(kind, 3, width);
      NormCase<double> wide(kind, 3, width);
      wide.gain = Widened(narrow.gain), wide.offset = Widened(narrow.offset), wide.x = Widened(narrow.x);
      const std::vector<float> dy = Numbers<float>(3 * width, 4);
      const NormGradients<float> got = Backward(narrow, dy, 0.0f);
      const NormGradients<double> want = Backward(wide, Widened(dy), 0.0);
      // A row of one number has a variance of 0: its factor is 1 / sqrt(epsilon).
      const double tolerance = width == 1 ? 1e-4 : 1e-5;
      ExpectNear(got.dx, want.dx, Name(kind), tolerance);
      ExpectNear(got.gain, want.gain, Name(kind), tolerance);
      ExpectNear(got.offset, want.offset, Name(kind), tolerance);
    }
  }
}

TEST(Norm, ResultsDoNotDependOnTheSplitOfRows) {
  const std::int64_t width = 129;
  const NormCase<float> norm(NormKind::kLayerNorm, 5, width);
  const std::vector<float> dy = Numbers<float>(5 * width, 4);
  std::vector<float> y(5 * width), mean(5), inverse(5), dx(5 * width), unused(width);
  std::vector<float> split_y(5 * width), split_dx(5 * width);
  NormForward<float>(norm.weights(), 5, width, norm.x.data(), y.data(), nullptr, mean.data(), inverse.data());
  NormBackward<float>(norm.weights(), 5, width, norm.x.data(), mean.data(), inverse.data(), dy.data(),
                      dx.data(), unused.data(), unused.data());
  for (std::int64_t r = 0; r < 5; ++r) {
    const std::int64_t at = r * width;
    NormForward<float>(norm.weights(), 1, width, &norm.x[at], &split_y[at], nullptr, &mean[r], &inverse[r]);
    NormBackward<float>(norm.weights(), 1, width, &norm.x[at], &mean[r], &inverse[r], &dy[at], &split_dx[at],
                        unused.data(), unused.data());
  }
  EXPECT_EQ(y, split_y);
  EXPECT_EQ(dx, split_dx);
}

TEST(Norm, NanStaysInItsRow) {
  NormCase<float> norm(NormKind::kLayerNorm, 2, 65);
  norm.x[3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y(2 * 65), mean(2), inverse(2);
  NormForward<float>(norm.weights(), 2, 65, norm.x.data(), y.data(), nullptr, mean.data(), inverse.data());
  for (int c = 0; c < 65; ++c) {
    EXPECT_TRUE(std::isnan(y[c]));
    EXPECT_FALSE(std::isnan(y[65 + c]));
  }
}

TYPED_TEST(Rows, AddDroppedIsASumWithDropout) {
  using R = Real<TypeParam>;
  for (const std::int64_t width : kWidths) {
    for (const double probability : {0.0, 0.4}) {
      const Dropout dropout{.seed = 9, .site = 2, .probability = probability};
      const std::vector<R> residual = Numbers<R>(4 * width, 1), update = Numbers<R>(4 * width, 2),
                           bias = Numbers<R>(width, 3);
      std::vector<double> with_bias, without, gradient, bias_gradient(width, 5), both, bias_of_both(width, 5);
      for (std::int64_t r = 0; r < 4; ++r) {
        std::vector<R> factors(width, 1);
        if (dropout.active()) DropoutFactors<R>(dropout, 100 + r, width, factors.data());
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t i = r * width + c;
          without.push_back(residual[i] + update[i] * factors[c]);
          with_bias.push_back(residual[i] + (update[i] + bias[c]) * factors[c]);
          gradient.push_back(residual[i] * factors[c]);
          bias_gradient[c] += gradient.back();
          both.push_back(gradient.back() + update[i]);
          bias_of_both[c] += both.back();
        }
      }
      std::vector<R> sum(4 * width), in_place = residual;
      AddDropped<R>(4, width, residual.data(), update.data(), nullptr, dropout, 100, sum.data());
      ExpectNear(sum, without, "without bias");
      AddDropped<R>(4, width, in_place.data(), update.data(), bias.data(), dropout, 100, in_place.data());
      ExpectNear(in_place, with_bias, "with bias");
      // Rows in two calls.
      std::vector<R> split = update;
      AddDropped<R>(1, width, residual.data(), split.data(), bias.data(), dropout, 100, split.data());
      AddDropped<R>(3, width, residual.data() + width, split.data() + width, bias.data(), dropout, 101,
                    split.data() + width);
      EXPECT_EQ(split, in_place);

      std::vector<TypeParam> got(4 * width), got_without(4 * width);
      std::vector<R> got_bias(width, 5);
      AddDroppedBackward<TypeParam>(4, width, residual.data(), dropout, 100, got.data(), got_bias.data());
      AddDroppedBackward<TypeParam>(4, width, residual.data(), dropout, 100, got_without.data(), nullptr);
      ExpectNear(got, gradient, "gradient");
      ExpectNear(got_bias, bias_gradient, "gradient of the bias");
      EXPECT_EQ(Widened(got), Widened(got_without));

      got_bias.assign(width, 5);
      AddDroppedBackward<TypeParam>(4, width, residual.data(), dropout, 100, got.data(), got_bias.data(),
                                    update.data());
      AddDroppedBackward<TypeParam>(4, width, residual.data(), dropout, 100, got_without.data(), nullptr,
                                    update.data());
      ExpectNear(got, both, "gradient with a further one");
      ExpectNear(got_bias, bias_of_both, "gradient of the bias with a further one");
      EXPECT_EQ(Widened(got), Widened(got_without));
    }
  }
}

constexpr ScaledPower kPowers[] = {{.tau = 0.7, .power = 1}, {.tau = 3, .power = 2},
                                   {.tau = 0.5, .power = 3}, {.tau = 2, .power = 4},
                                   {.tau = 1, .power = 2.5}, {.tau = 2, .power = 16}};

template <typename R>
class Powers : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Powers, Reals);

TYPED_TEST(Powers, SumsAreThoseOfTheDefinition) {
  using R = TypeParam;
  for (const ScaledPower& scaled : kPowers) {
    for (const std::int64_t width : kWidths) {
      const std::vector<R> x = Numbers<R>(3 * width, 1);
      std::vector<double> got(3), want(3);
      for (std::int64_t i = 0; i < 3 * width; ++i)
        want[i / width] += std::pow(std::fabs(double{x[i]}) / scaled.tau, scaled.power);
      SumPowers<R>(scaled, 3, width, x.data(), got.data());
      ExpectNear(got, want, "power " + std::to_string(scaled.power), Tolerance<R>());
      double alone = 0;
      SumPowers<R>(scaled, 1, width, x.data() + width, &alone);
      EXPECT_EQ(alone, got[1]) << "rows in several calls";
    }
  }
}

TYPED_TEST(Powers, GradientsAreThoseOfTheDefinition) {
  using R = TypeParam;
  for (const ScaledPower& scaled : kPowers) {
    for (const R scale : {R(0.25), R(-2)}) {
      for (const std::int64_t width : kWidths) {
        std::vector<R> x = Numbers<R>(3 * width, 1), got(3 * width);
        x[0] = 0;
        std::vector<double> want;
        for (const double value : Widened(x)) {
          const double slope =
              scaled.power / scaled.tau * std::pow(std::fabs(value) / scaled.tau, scaled.power - 1);
          want.push_back(value == 0 ? 0 : scale * std::copysign(slope, value));
        }
        PowerGradient<R>(scaled, 3, width, x.data(), scale, got.data());
        ExpectNear(got, want, "power " + std::to_string(scaled.power));
      }
    }
  }
}

TEST(PowersInOneType, GradientsAreCentralDifferences) {
  for (const ScaledPower& scaled : kPowers) {
    std::vector<double> x = Numbers<double>(2 * 65, 1), got(2 * 65);
    PowerGradient<double>(scaled, 2, 65, x.data(), 1.0, got.data());
    const auto sum = [&] {
      double sums[2];
      SumPowers<double>(scaled, 2, 65, x.data(), sums);
      return sums[0] + sums[1];
    };
    const double largest = std::pow(3 / scaled.tau, scaled.power);  // Differences lose its last digits.
    ExpectNear(got, Differences(x, sum), "power " + std::to_string(scaled.power),
               kDifferenceTolerance * std::max(1.0, largest));
  }
}

TEST(PowersInOneType, NanAndInfinityStay) {
  const float x[] = {1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 2};
  for (const ScaledPower& scaled : kPowers) {
    double sums[2];
    float dx[4];
    SumPowers<float>(scaled, 2, 2, x, sums);
    EXPECT_TRUE(std::isnan(sums[0]));
    EXPECT_TRUE(std::isinf(sums[1]));
    PowerGradient<float>(scaled, 2, 2, x, 1.0f, dx);
    EXPECT_EQ(std::isnan(dx[1]), scaled.power != 1);
    EXPECT_EQ(std::isinf(dx[2]), scaled.power != 1);
  }
}

TYPED_TEST(Rows, AddBiasAndAddColumnSums) {
  using R = Real<TypeParam>;
  for (const std::int64_t width : kWidths) {
    const std::vector<R> x = Numbers<R>(3 * width, 1), bias = Numbers<R>(width, 2);
    std::vector<double> sum, sums(width, 5);
    for (std::int64_t i = 0; i < 3 * width; ++i) sum.push_back(x[i] + bias[i % width]);
    std::vector<TypeParam> with_bias(3 * width), without(3 * width);
    AddBias<TypeParam>(3, width, x.data(), bias.data(), with_bias.data());
    AddBias<TypeParam>(3, width, x.data(), nullptr, without.data());
    ExpectNear(with_bias, sum, "with bias");
    ExpectNear(without, Widened(x), "without bias");
    std::vector<R> got(width, 5);
    for (std::int64_t i = 0; i < 3 * width; ++i) sums[i % width] += ToReal(with_bias[i]);
    AddColumnSums<TypeParam>(3, width, with_bias.data(), got.data());
    ExpectNear(got, sums, "column sums");
  }
}

}  // namespace
}  // namespace inlier::kernels
