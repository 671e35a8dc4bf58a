// The end of a language model against LibTorch's operations and their autograd.
#include "core/nn/vocabulary_loss.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/layer_cpu/matmul.h"

namespace inlier {
namespace {

using layer::Products;
using layer::VocabularyInputs;

struct Sizes {
  std::int64_t rows, width, classes;
  double smoothing;
  bool bias;
  int ignored;  // One target in this many; 0: none.
};

// More rows than are kept at a time, blocks of rows and of classes that are not whole, single ones.
const std::vector<Sizes> kSizes = {
    {.rows = 1, .width = 4, .classes = 3, .smoothing = 0, .bias = false, .ignored = 0},
    {.rows = 63, .width = 6, .classes = 65, .smoothing = 0.1, .bias = true, .ignored = 3},
    {.rows = 64, .width = 8, .classes = 1, .smoothing = 0, .bias = true, .ignored = 0},
    {.rows = 65, .width = 7, .classes = 513, .smoothing = 0, .bias = true, .ignored = 2},
    {.rows = 200, .width = 70, .classes = 1100, .smoothing = 0.3, .bias = false, .ignored = 5},
    {.rows = 1100, .width = 5, .classes = 129, .smoothing = 0, .bias = true, .ignored = 4}};

VocabularyInputs Draw(const Sizes& sizes, at::ScalarType type) {
  torch::manual_seed(7);
  VocabularyInputs inputs;
  inputs.hidden = torch::randn({sizes.rows, sizes.width}, at::kDouble).to(type).requires_grad_();
  inputs.weight = torch::randn({sizes.classes, sizes.width}, at::kDouble).to(type).requires_grad_();
  if (sizes.bias) inputs.bias = torch::randn({sizes.classes}, at::kDouble).to(type).requires_grad_();
  inputs.targets = torch::randint(sizes.classes, {sizes.rows}, at::kLong);
  if (sizes.ignored > 0)
    inputs.targets.masked_fill_(torch::arange(sizes.rows).remainder(sizes.ignored).eq(1), -100);
  inputs.label_smoothing = sizes.smoothing;
  return inputs;
}

at::Tensor ReferenceLoss(const VocabularyInputs& inputs) {
  return at::cross_entropy_loss(at::linear(inputs.hidden, inputs.weight, inputs.bias), inputs.targets, {},
                                at::Reduction::Mean, -100, inputs.label_smoothing);
}

// The loss and the gradients, in double.
std::vector<at::Tensor> Results(const at::Tensor& loss, const VocabularyInputs& inputs) {
  std::vector<at::Tensor> variables = {inputs.hidden, inputs.weight};
  if (inputs.bias.defined()) variables.push_back(inputs.bias);
  std::vector<at::Tensor> results = torch::autograd::grad({loss}, variables);
  results.insert(results.begin(), loss.detach());
  for (at::Tensor& result : results) result = result.to(at::kDouble);
  return results;
}

// The largest error of a loss or a gradient, as a share of the largest number of its tensor.
double Error(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  double error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].sizes(), expected[i].sizes());
    const double largest = std::max(expected[i].abs().max().item<double>(), 1e-3);
    error = std::max(error, (found[i] - expected[i]).abs().max().item<double>() / largest);
  }
  return error;
}

double ErrorOf(const Sizes& sizes, at::ScalarType type, Products products) {
  const VocabularyInputs inputs = Draw(sizes, type);
  const VocabularyInputs exact = Draw(sizes, at::kDouble);
  return Error(Results(VocabularyLoss(inputs, products), inputs), Results(ReferenceLoss(exact), exact));
}

TEST(VocabularyLossTest, EqualsCrossEntropyInEveryPrecision) {
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(std::to_string(sizes.rows) + " x " + std::to_string(sizes.classes));
    EXPECT_LT(ErrorOf(sizes, at::kDouble, Products::kFloat32), 1e-12);
    EXPECT_LT(ErrorOf(sizes, at::kFloat, Products::kFloat32), 1e-5);
    if (!layer::cpu::CanMultiply<layer::cpu::Bf16>()) continue;
    EXPECT_LT(ErrorOf(sizes, at::kFloat, Products::kBfloat16), 4e-2);
  }
}

TEST(VocabularyLossTest, FiniteDifferences) {
  const VocabularyInputs inputs = Draw(kSizes[1], at::kDouble);
  const std::vector<at::Tensor> gradients = Results(VocabularyLoss(inputs, Products::kFloat32), inputs);
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> variables = {inputs.hidden, inputs.weight, inputs.bias};
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const at::Tensor direction = torch::randn_like(variables[i]);
    constexpr double kStep = 1e-5;
    variables[i].add_(direction, kStep);
    const double above = VocabularyLoss(inputs, Products::kFloat32).item<double>();
    variables[i].sub_(direction, 2 * kStep);
    const double below = VocabularyLoss(inputs, Products::kFloat32).item<double>();
    variables[i].add_(direction, kStep);
    EXPECT_NEAR((above - below) / (2 * kStep), (gradients[i + 1] * direction).sum().item<double>(), 1e-8)
        << i;
  }
}

TEST(VocabularyLossTest, ThreadsChangeNoBit) {
  const int threads = at::get_num_threads();
  for (const Sizes& sizes : kSizes) {
    for (const Products products : {Products::kFloat32, Products::kBfloat16}) {
      if (products == Products::kBfloat16 && !layer::cpu::CanMultiply<layer::cpu::Bf16>()) continue;
      const VocabularyInputs inputs = Draw(sizes, at::kFloat);
      at::set_num_threads(1);
      const std::vector<at::Tensor> one = Results(VocabularyLoss(inputs, products), inputs);
      at::set_num_threads(2);
      const std::vector<at::Tensor> two = Results(VocabularyLoss(inputs, products), inputs);
      for (std::size_t i = 0; i < one.size(); ++i)
        EXPECT_TRUE(at::equal(one[i], two[i])) << sizes.rows << ", " << i;
      const at::NoGradGuard no_grad;
      EXPECT_TRUE(at::equal(VocabularyLoss(inputs, products).to(at::kDouble), one[0])) << sizes.rows;
    }
  }
  at::set_num_threads(threads);
}

TEST(VocabularyLossTest, AFactorBehindTheLossScalesGradients) {
  const VocabularyInputs inputs = Draw(kSizes[1], at::kDouble);
  std::vector<at::Tensor> expected = Results(VocabularyLoss(inputs, Products::kFloat32), inputs);
  for (at::Tensor& tensor : expected) tensor = tensor / 4;
  EXPECT_LT(Error(Results(VocabularyLoss(inputs, Products::kFloat32) / 4, inputs), expected), 1e-14);
}

TEST(VocabularyLossTest, WithoutTargetsEverythingIsZero) {
  const VocabularyInputs inputs = Draw(kSizes[1], at::kFloat);
  inputs.targets.fill_(-100);
  for (const at::Tensor& result : Results(VocabularyLoss(inputs, Products::kFloat32), inputs))
    EXPECT_EQ(result.abs().max().item<double>(), 0);
}

TEST(VocabularyLossTest, LargeLogitsNeitherOverflowNorHideADivergence) {
  VocabularyInputs inputs = Draw(kSizes[1], at::kFloat);
  const at::NoGradGuard no_grad;
  inputs.hidden.mul_(1e4);
  EXPECT_NEAR(
      VocabularyLoss(inputs, Products::kFloat32).item<double>() / ReferenceLoss(inputs).item<double>(), 1,
      1e-5);
  inputs.hidden[0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(VocabularyLoss(inputs, Products::kFloat32).item<double>()));
}

TEST(VocabularyLossTest, ATargetOutsideOfTheVocabularyIsAnError) {
  const VocabularyInputs inputs = Draw(kSizes[1], at::kFloat);
  inputs.targets[4] = 65;
  EXPECT_THROW(VocabularyLoss(inputs, Products::kFloat32), c10::Error);
}

}  // namespace
}  // namespace inlier
