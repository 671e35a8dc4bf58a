// Row-wise kernels, cross-entropy and Adam of core/cuda, run on a CPU, against core/kernels in float64.
#include "core/cuda/rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/cuda/adam.h"
#include "core/cuda/cross_entropy.h"
#include "core/kernels/cross_entropy.h"
#include "tests/core/cuda/on_cpu/cuda_runtime_api.h"
#include "tests/core/kernels/numbers.h"

namespace inlier::cuda {
namespace {

using kernels::Bf16;
using kernels::Dropout;
using kernels::ExpectNear;
using kernels::NormKind;
using kernels::Numbers;
using kernels::ToReal;
using kernels::Widened;
using on_cpu::Order;

constexpr std::int64_t kShapes[][2] = {{1, 1}, {7, 63}, {3, 130}, {300, 33}, {5, 1000}};

// run() in both orders of blocks and threads; each leaves its results in `results`, which must be the same bits.
template <typename Run>
void InBothOrders(std::vector<std::vector<float>*> results, Run run) {
  on_cpu::order = Order::kReversed;
  run();
  std::vector<std::vector<float>> reversed;
  for (const auto* x : results) reversed.push_back(*x);
  on_cpu::order = Order::kForward;
  run();
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(0, std::memcmp(results[i]->data(), reversed[i].data(), reversed[i].size() * sizeof(float)))
        << i;
  }
}

template <typename T>
void CheckNorm(std::int64_t rows, std::int64_t width, NormKind kind, double probability) {
  const std::int64_t n = rows * width, gains = kind == NormKind::kRmsSingle ? 1 : width;
  const auto residual = Numbers<float>(n, 1), bias = Numbers<float>(width, 3),
             gain = Numbers<float>(gains, 4), offset = Numbers<float>(width, 5), dy = Numbers<float>(n, 6),
             above = Numbers<float>(n, 7);
  const auto update = Numbers<T>(n, 2);
  const Dropout dropout = {.seed = 99, .site = 3, .probability = probability, .first_row = 1000};
  const bool layer = kind == NormKind::kLayerNorm;
  const ResidualNorm<T> call = {.rows = rows,
                                .width = width,
                                .norm = {kind, 1e-5f, gain.data(), layer ? offset.data() : nullptr},
                                .update = update.data(),
                                .bias = bias.data(),
                                .dropout = dropout,
                                .first_row = 11};
  std::vector<float> sum(n), y(n), mean(rows), inverse(rows), dx(n), d_gain, d_offset, d_bias,
      workspace(ResidualNormWorkspace(width));
  std::vector<T> operand(n), d_update(n);
  InBothOrders({&sum, &y, &mean, &inverse, &dx, &d_gain, &d_offset, &d_bias}, [&] {
    d_gain.assign(gains, 1);
    d_offset.assign(width, 1);
    d_bias.assign(width, 1);
    ASSERT_EQ(cudaSuccess, ResidualNormForward<T>(call, residual.data(), sum.data(), y.data(), operand.data(),
                                                  mean.data(), inverse.data(), nullptr));
    const ResidualNormGradients<T> gradients = {.dy = dy.data(),
                                                .sum_gradient = above.data(),
                                                .residual = dx.data(),
                                                .update = d_update.data(),
                                                .gain = d_gain.data(),
                                                .offset = layer ? d_offset.data() : nullptr,
                                                .bias = d_bias.data()};
    ASSERT_EQ(cudaSuccess, ResidualNormBackward<T>(call, sum.data(), mean.data(), inverse.data(), gradients,
                                                   workspace.data(), nullptr));
  });
  auto want_sum = Widened(residual), wide_update = Widened(update), wide_bias = Widened(bias),
       wide_gain = Widened(gain), wide_offset = Widened(offset);
  kernels::AddDropped<double>(rows, width, want_sum.data(), wide_update.data(), wide_bias.data(), dropout, 11,
                              want_sum.data());
  const kernels::NormWeights<double> norm = {kind, 1e-5f, wide_gain.data(),
                                             layer ? wide_offset.data() : nullptr};
  std::vector<double> want_y(n), want_mean(rows), want_inverse(rows), want_dx(n), want_gain(gains, 1),
      want_offset(width, 1), want_bias(width, 1), want_update(n);
  kernels::NormForward<double>(norm, rows, width, want_sum.data(), want_y.data(), nullptr, want_mean.data(),
                               want_inverse.data());
  kernels::NormBackward<double>(norm, rows, width, want_sum.data(), want_mean.data(), want_inverse.data(),
                                Widened(dy).data(), want_dx.data(), want_gain.data(), want_offset.data());
  for (std::int64_t i = 0; i < n; ++i) want_dx[i] += above[i];
  kernels::AddDroppedBackward<double>(rows, width, want_dx.data(), dropout, 11, want_update.data(),
                                      want_bias.data());
  const double tolerance = 2e-5 * static_cast<double>(rows > 100 ? 3 : 1);
  ExpectNear(sum, want_sum, "sum");
  if (width == 1) return;  // The norm of one number is 0 / 0 but for epsilon.
  ExpectNear(y, want_y, "y", tolerance);
  ExpectNear(operand, want_y, "operand", kernels::Tolerance<T>() + tolerance);
  ExpectNear(dx, want_dx, "dx", tolerance);
  ExpectNear(d_update, want_update, "gradient of the update", kernels::Tolerance<T>() + tolerance);
  ExpectNear(d_gain, want_gain, "gain", tolerance);
  if (layer) ExpectNear(d_offset, want_offset, "offset", tolerance);
  ExpectNear(d_bias, want_bias, "bias", tolerance);
}

TEST(CudaRowsTest, ResidualNormIsTheOneOfTheCpu) {
  for (const auto& [rows, width] : kShapes) {
    for (const NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsPerChannel, NormKind::kRmsSingle}) {
      for (const double probability : {0.0, 0.3}) {
        CheckNorm<float>(rows, width, kind, probability);
        CheckNorm<Bf16>(rows, width, kind, probability);
        if (HasFatalFailure()) FAIL() << rows << " x " << width << ", kind " << static_cast<int>(kind);
      }
    }
  }
  CheckNorm<Bf16>(1, kWidthMax, NormKind::kLayerNorm, 0.1);
  EXPECT_EQ(cudaErrorInvalidValue,
            ResidualNormForward<float>({.rows = 1, .width = kWidthMax + 1}, nullptr, nullptr, nullptr,
                                       nullptr, nullptr, nullptr, nullptr));
}

template <typename T>
void CheckActivation(std::int64_t rows, std::int64_t width, kernels::Activation activation, bool gated) {
  const std::int64_t n = rows * width;
  const auto product = Numbers<T>(n, 1), input = Numbers<T>(n, 2), df = Numbers<T>(n, 3);
  const auto bias = Numbers<float>(width, 4), input_bias = Numbers<float>(width, 5);
  const ActivationRows<T> call = {.activation = activation,
                                  .rows = rows,
                                  .width = width,
                                  .product = product.data(),
                                  .bias = bias.data(),
                                  .input_product = gated ? input.data() : nullptr,
                                  .input_bias = gated ? input_bias.data() : nullptr};
  std::vector<T> h(n), u(n), f(n), dh(n), du(n);
  std::vector<float> d_bias, d_input_bias, workspace(ActivationWorkspace(width));
  InBothOrders({&d_bias, &d_input_bias}, [&] {
    d_bias.assign(width, 1);
    d_input_bias.assign(width, 1);
    ASSERT_EQ(cudaSuccess,
              ActivationForward<T>(call, h.data(), gated ? u.data() : nullptr, f.data(), nullptr));
    ASSERT_EQ(cudaSuccess,
              ActivationBackward<T>(call, h.data(), gated ? u.data() : nullptr, df.data(), dh.data(),
                                    gated ? du.data() : nullptr, d_bias.data(),
                                    gated ? d_input_bias.data() : nullptr, workspace.data(), nullptr));
  });
  // From the h and u that the kernel keeps: their rounding is not the activation's.
  std::vector<double> kept(n), kept_input(n), want_f(n), want_dh(n), want_du(n), want_bias(width, 1),
      want_input_bias(width, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(ToReal(product[i]) + bias[i % width], ToReal(h[i]), kernels::Tolerance<T>() * 8);
  }
  const auto wide_h = Widened(h), wide_u = Widened(u), wide_df = Widened(df);
  if (gated) {
    kernels::GatedForward<double>(activation, rows, width, wide_h.data(), nullptr, wide_u.data(), nullptr,
                                  kept.data(), kept_input.data(), want_f.data());
    kernels::GatedBackward<double>(activation, rows, width, wide_h.data(), wide_u.data(), wide_df.data(),
                                   want_dh.data(), want_du.data(), want_bias.data(), want_input_bias.data());
    ExpectNear(du, want_du, "du", kernels::Tolerance<T>() + 2e-6);
    ExpectNear(d_input_bias, want_input_bias, "gradient of the input's bias", 2e-5);
  } else {
    kernels::ActivationForward<double>(activation, rows, width, wide_h.data(), nullptr, kept.data(),
                                       want_f.data());
    kernels::ActivationBackward<double>(activation, rows, width, wide_h.data(), wide_df.data(),
                                        want_dh.data(), want_bias.data());
  }
  ExpectNear(f, want_f, "f", kernels::Tolerance<T>() + 2e-6);
  ExpectNear(dh, want_dh, "dh", kernels::Tolerance<T>() + 2e-6);
  ExpectNear(d_bias, want_bias, "gradient of the bias", 2e-5);
}

TEST(CudaRowsTest, ActivationIsTheOneOfTheCpu) {
  using enum kernels::Activation;
  for (const auto& [rows, width] : kShapes) {
    for (const auto activation : {kGeluErf, kGeluTanh, kRelu, kSilu}) {
      for (const bool gated : {false, true}) {
        CheckActivation<float>(rows, width, activation, gated);
        CheckActivation<Bf16>(rows, width, activation, gated);
        if (HasFatalFailure()) FAIL() << rows << " x " << width << ", kind " << static_cast<int>(activation);
      }
    }
  }
}

TEST(CudaRowsTest, ColumnSumsAreAdded) {
  for (const auto& [rows, width] : kShapes) {
    const auto x = Numbers<Bf16>(rows * width, 1);
    std::vector<float> sums, workspace(ColumnSumsWorkspace(width));
    std::vector<double> want(width, 1);
    for (std::int64_t i = 0; i < rows * width; ++i) want[i % width] += ToReal(x[i]);
    InBothOrders({&sums}, [&] {
      sums.assign(width, 1);
      ASSERT_EQ(cudaSuccess,
                AddColumnSums<Bf16>(rows, width, x.data(), sums.data(), workspace.data(), nullptr));
    });
    ExpectNear(sums, want, "sums", 1e-5);
  }
}

template <typename T>
void CheckCrossEntropy(std::int64_t rows, std::int64_t classes, float smoothing, bool with_bias) {
  const std::int64_t stride = classes + 3;
  const auto logits = Numbers<T>(rows * stride, 1);
  const auto bias = Numbers<float>(classes, 2);
  std::vector<std::int64_t> targets(rows);
  for (std::int64_t r = 0; r < rows; ++r) targets[r] = r % 4 == 3 ? -100 : r * 31 % classes;
  std::vector<float> losses(rows), log_sums(rows);
  std::vector<T> gradients;
  InBothOrders({&losses, &log_sums}, [&] {
    gradients = logits;
    const CrossEntropyRows call = {.rows = rows,
                                   .classes = classes,
                                   .stride = stride,
                                   .bias = with_bias ? bias.data() : nullptr,
                                   .targets = targets.data(),
                                   .label_smoothing = smoothing,
                                   .gradient_scale = 0.5f};
    ASSERT_EQ(cudaSuccess, CrossEntropy<T>(call, gradients.data(), losses.data(), log_sums.data(),
                                           /*with_gradient=*/true, nullptr));
  });
  auto want = Widened(logits), wide_bias = Widened(bias);
  const auto wide = want;
  for (std::int64_t r = 0; r < rows; ++r) {
    const kernels::CrossEntropyRows<double> row = {.rows = 1,
                                                   .classes = classes,
                                                   .bias = with_bias ? wide_bias.data() : nullptr,
                                                   .targets = &targets[r],
                                                   .label_smoothing = smoothing,
                                                   .gradient_scale = 0.5};
    double* const at = want.data() + r * stride;
    EXPECT_NEAR(kernels::CrossEntropy<double>(row, at, stride, at, stride, nullptr), losses[r], 1e-5);
    double sum = 0;
    for (std::int64_t j = 0; j < classes; ++j)
      sum += std::exp(wide[r * stride + j] + (with_bias ? bias[j] : 0));
    EXPECT_NEAR(targets[r] < 0 ? 0 : std::log(sum), log_sums[r], 1e-5);
  }
  ExpectNear(gradients, want, "gradients", kernels::Tolerance<T>());
}

TEST(CudaRowsTest, CrossEntropyIsTheOneOfTheCpu) {
  for (const auto& [rows, classes] : kShapes) {
    for (const float smoothing : {0.0f, 0.1f}) {
      CheckCrossEntropy<float>(rows, classes, smoothing, /*with_bias=*/true);
      CheckCrossEntropy<Bf16>(rows, classes, smoothing, /*with_bias=*/false);
      if (HasFatalFailure()) FAIL() << rows << " x " << classes;
    }
  }
}

template <typename G>
void CheckAdam(bool decoupled) {
  const std::vector<std::int64_t> sizes = {5000, 1, 4096, 33};
  const AdamOptions options = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .decoupled = decoupled};
  const std::vector<AdamBlock> blocks = AdamBlocks(sizes);
  EXPECT_EQ(5u, blocks.size());
  std::vector<std::vector<float>> p, m, v;
  std::vector<std::vector<double>> want_p, want_m, want_v;
  std::vector<std::vector<G>> g;
  std::vector<std::vector<Bf16>> copy;
  for (const std::int64_t size : sizes) {
    p.push_back(Numbers<float>(size, 1));
    g.push_back(Numbers<G>(size, 2));
    m.emplace_back(size);
    v.emplace_back(size);
    copy.emplace_back(size);
    want_p.push_back(Widened(p.back()));
    want_m.emplace_back(size);
    want_v.emplace_back(size);
  }
  std::vector<AdamParameter<G>> parameters;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parameters.push_back(
        {p[i].data(), m[i].data(), v[i].data(), g[i].data(), copy[i].data(), sizes[i], i == 1 ? 0 : 0.1f});
  }
  for (int t = 1; t <= 3; ++t) {
    const AdamNumbers numbers = {.learning_rate = 0.01f * static_cast<float>(t),
                                 .updates = static_cast<float>(t),
                                 .gradient_scale = 0.5f};
    ASSERT_EQ(cudaSuccess, AdamStep<G>(options, parameters.data(), blocks.data(),
                                       static_cast<std::int64_t>(blocks.size()), &numbers, nullptr));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (std::int64_t j = 0; j < sizes[i]; ++j) {
        double gradient = 0.5 * ToReal(g[i][j]), &x = want_p[i][j], decay = parameters[i].weight_decay;
        if (decoupled) x *= 1 - numbers.learning_rate * decay;
        if (!decoupled) gradient += decay * x;
        want_m[i][j] = 0.9 * want_m[i][j] + 0.1 * gradient;
        want_v[i][j] = 0.95 * want_v[i][j] + 0.05 * gradient * gradient;
        x -= numbers.learning_rate * (want_m[i][j] / (1 - std::pow(0.9, t))) /
             (std::sqrt(want_v[i][j] / (1 - std::pow(0.95, t))) + 1e-8);
      }
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ExpectNear(p[i], want_p[i], "p");
    ExpectNear(m[i], want_m[i], "m");
    ExpectNear(v[i], want_v[i], "v");
    for (std::int64_t j = 0; j < sizes[i]; ++j)
      ASSERT_EQ(kernels::ToElement<Bf16>(p[i][j]).bits, copy[i][j].bits);
  }
}

TEST(CudaAdamTest, StepsAreThoseOfTheFormula) {
  CheckAdam<float>(/*decoupled=*/true);
  CheckAdam<float>(/*decoupled=*/false);
  CheckAdam<Bf16>(/*decoupled=*/true);
}

}  // namespace
}  // namespace inlier::cuda
