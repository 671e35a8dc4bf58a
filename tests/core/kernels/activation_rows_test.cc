// The non-linearities against plain loops in double; their gradients against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/kernels/rows.h"
#include "tests/core/kernels/numbers.h"

namespace inlier::kernels {
namespace {

constexpr Activation kActivations[] = {Activation::kGeluErf, Activation::kGeluTanh, Activation::kRelu,
                                       Activation::kSilu};
constexpr double kPi = 3.14159265358979323846;

std::string Name(Activation activation) {
  return "activation " + std::to_string(static_cast<int>(activation));
}

double Value(Activation activation, double x) {
  switch (activation) {
    case Activation::kGeluErf:
      return x / 2 * (1 + std::erf(x / std::sqrt(2)));
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::fmax(x, 0);
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

std::vector<double> Values(Activation activation, const std::vector<double>& x) {
  std::vector<double> values;
  for (const double number : x) values.push_back(Value(activation, number));
  return values;
}

std::vector<double> Product(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> product;
  for (std::size_t i = 0; i < a.size(); ++i) product.push_back(a[i] * b[i]);
  return product;
}

// start + the sums of columns.
std::vector<double> ColumnSums(const std::vector<double>& x, std::int64_t width, double start) {
  std::vector<double> sums(width, start);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % width] += x[i];
  return sums;
}

template <typename T>
class ActivationRows : public ::testing::Test {};
TYPED_TEST_SUITE(ActivationRows, Elements);

TYPED_TEST(ActivationRows, ForwardAndBackward) {
  using T = TypeParam;
  using R = Real<T>;
  for (const Activation activation : kActivations) {
    for (const std::int64_t width : kWidths) {
      const std::int64_t size = 3 * width;
      const std::vector<R> product = Numbers<R>(size, 1), bias = Numbers<R>(width, 2),
                           df = Numbers<R>(size, 3);
      std::vector<T> h(size), f(size), dh(size), dh_alone(size);
      ActivationForward<T>(activation, 3, width, product.data(), bias.data(), h.data(), f.data());
      for (std::int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(ToReal(h[i]), ToReal(ToElement<T>(product[i] + bias[i % width])));
      }
      ExpectNear(f, Values(activation, Widened(h)), Name(activation));
      std::vector<R> bias_gradient(width, 5);
      ActivationBackward<T>(activation, 3, width, h.data(), df.data(), dh.data(), bias_gradient.data());
      ActivationBackward<T>(activation, 3, width, h.data(), df.data(), dh_alone.data(), nullptr);
      std::vector<double> wide = Widened(h);
      const std::vector<double> above = Widened(df);
      std::vector<double> slopes;
      for (double& x : wide) {
        std::vector<double> one = {x};
        slopes.push_back(Differences(one, [&] { return Value(activation, one[0]); })[0]);
      }
      const std::vector<double> want = Product(slopes, above);
      ExpectNear(dh, want, Name(activation), std::fmax(Tolerance<T>(), kDifferenceTolerance));
      EXPECT_EQ(Widened(dh), Widened(dh_alone));
      ExpectNear(bias_gradient, ColumnSums(want, width, 5), Name(activation),
                 std::fmax(Tolerance<R>(), kDifferenceTolerance));

      ActivationForward<T>(activation, 3, width, product.data(), nullptr, h.data(), f.data());
      ExpectNear(h, Widened(product), "without bias");
      ExpectNear(f, Values(activation, Widened(h)), "without bias");
    }
  }
}

TYPED_TEST(ActivationRows, GatedForwardAndBackward) {
  using T = TypeParam;
  using R = Real<T>;
  for (const Activation activation : kActivations) {
    for (const std::int64_t width : kWidths) {
      const std::int64_t size = 3 * width;
      const std::vector<R> gate = Numbers<R>(size, 1), input = Numbers<R>(size, 2),
                           gate_bias = Numbers<R>(width, 3), input_bias = Numbers<R>(width, 4),
                           df = Numbers<R>(size, 5);
      std::vector<T> g(size), u(size), f(size), dg(size), du(size), dg_alone(size), du_alone(size);
      GatedForward<T>(activation, 3, width, gate.data(), gate_bias.data(), input.data(), input_bias.data(),
                      g.data(), u.data(), f.data());
      for (std::int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(ToReal(g[i]), ToReal(ToElement<T>(gate[i] + gate_bias[i % width])));
        ASSERT_EQ(ToReal(u[i]), ToReal(ToElement<T>(input[i] + input_bias[i % width])));
      }
      std::vector<double> wide_g = Widened(g), wide_u = Widened(u);
      const std::vector<double> above = Widened(df);
      ExpectNear(f, Product(Values(activation, wide_g), wide_u), Name(activation));

      std::vector<R> gate_sums(width, 5), input_sums(width, 6);
      GatedBackward<T>(activation, 3, width, g.data(), u.data(), df.data(), dg.data(), du.data(),
                       gate_sums.data(), input_sums.data());
      GatedBackward<T>(activation, 3, width, g.data(), u.data(), df.data(), dg_alone.data(), du_alone.data(),
                       nullptr, nullptr);
      std::vector<double> want_g, want_u;
      for (std::int64_t i = 0; i < size; ++i) {
        std::vector<double> pair = {wide_g[i], wide_u[i]};
        const std::vector<double> slopes =
            Differences(pair, [&] { return above[i] * Value(activation, pair[0]) * pair[1]; });
        want_g.push_back(slopes[0]);
        want_u.push_back(slopes[1]);
      }
      const double tolerance = std::fmax(Tolerance<T>(), kDifferenceTolerance);
      ExpectNear(dg, want_g, Name(activation), tolerance);
      ExpectNear(du, want_u, Name(activation), tolerance);
      EXPECT_EQ(Widened(dg), Widened(dg_alone));
      EXPECT_EQ(Widened(du), Widened(du_alone));
      const double sum_tolerance = std::fmax(Tolerance<R>(), kDifferenceTolerance);
      ExpectNear(gate_sums, ColumnSums(want_g, width, 5), Name(activation), sum_tolerance);
      ExpectNear(input_sums, ColumnSums(want_u, width, 6), Name(activation), sum_tolerance);

      GatedForward<T>(activation, 3, width, gate.data(), nullptr, input.data(), nullptr, g.data(), u.data(),
                      f.data());
      ExpectNear(g, Widened(gate), "without bias");
      ExpectNear(u, Widened(input), "without bias");
      ExpectNear(f, Product(Values(activation, Widened(g)), Widened(u)), "without bias");
    }
  }
}

// Value and slope at the given numbers, in float.
struct Curve {
  std::vector<float> value, slope;
};
Curve CurveOf(Activation activation, const std::vector<float>& x) {
  const std::int64_t width = static_cast<std::int64_t>(x.size());
  const std::vector<float> ones(width, 1);
  std::vector<float> h(width);
  Curve curve{std::vector<float>(width), std::vector<float>(width)};
  ActivationForward<float>(activation, 1, width, x.data(), nullptr, h.data(), curve.value.data());
  ActivationBackward<float>(activation, 1, width, h.data(), ones.data(), curve.slope.data(), nullptr);
  return curve;
}

TEST(Activations, AreAccurateFarOut) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(static_cast<float>(i) / 100);
  for (const Activation activation : kActivations) {
    ExpectNear(CurveOf(activation, x).value, Values(activation, Widened(x)), Name(activation), 1e-6);
  }
  for (const Activation activation : kActivations) {
    const Curve far = CurveOf(activation, {-1e4f, 1e4f});
    EXPECT_EQ(far.value[0], 0) << Name(activation);
    EXPECT_EQ(far.value[1], 1e4f) << Name(activation);
    EXPECT_EQ(far.slope[0], 0) << Name(activation);
    EXPECT_EQ(far.slope[1], 1) << Name(activation);
  }
}

TEST(Activations, NanStaysNanAndLeavesItsNeighboursAlone) {
  for (const Activation activation : kActivations) {
    std::vector<float> x(65, 1);
    x[40] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> value = CurveOf(activation, x).value;
    for (int i = 0; i < 65; ++i) EXPECT_EQ(std::isnan(value[i]), i == 40) << Name(activation);
  }
}

TEST(Activations, TheSlopeOfReluAtZeroIsZero) {
  EXPECT_EQ(CurveOf(Activation::kRelu, {-1, -0.0f, 0, 1}).slope, (std::vector<float>{0, 0, 0, 1}));
}

TEST(Activations, ResultsDoNotDependOnTheSplitOfRows) {
  const std::int64_t width = 129;
  const std::vector<float> x = Numbers<float>(4 * width, 1), df = Numbers<float>(4 * width, 2);
  for (const Activation activation : kActivations) {
    std::vector<float> h(4 * width), f(4 * width), dh(4 * width), split_f(4 * width), split_dh(4 * width);
    ActivationForward<float>(activation, 4, width, x.data(), nullptr, h.data(), f.data());
    ActivationBackward<float>(activation, 4, width, h.data(), df.data(), dh.data(), nullptr);
    for (std::int64_t at = 0; at < 4 * width; at += width) {
      ActivationForward<float>(activation, 1, width, &x[at], nullptr, &h[at], &split_f[at]);
      ActivationBackward<float>(activation, 1, width, &h[at], &df[at], &split_dh[at], nullptr);
    }
    EXPECT_EQ(f, split_f) << Name(activation);
    EXPECT_EQ(dh, split_dh) << Name(activation);
  }
}

}  // namespace
}  // namespace inlier::kernels
