// The vocabulary's loss, dropout and AdamW on a GPU, run on the CPU.
#include "core/nn/vocabulary_loss.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "core/layer_cuda/layer.h"
#include "core/optim/adam.h"
#include "tests/core/layer_cuda/place.h"

namespace inlier::layer::gpu {
namespace {

layer::VocabularyInputs Draw(std::int64_t rows, std::int64_t width, std::int64_t classes, bool bias,
                             double smoothing) {
  torch::manual_seed(5);
  layer::VocabularyInputs inputs;
  inputs.hidden = torch::randn({rows, width}).requires_grad_();
  inputs.weight = (torch::randn({classes, width}) / std::sqrt(width)).requires_grad_();
  if (bias) inputs.bias = torch::randn({classes}).requires_grad_();
  inputs.targets = torch::randint(classes, {rows}, at::kLong);
  inputs.targets.masked_fill_(torch::arange(rows).remainder(3).eq(1), -100);
  inputs.label_smoothing = smoothing;
  return inputs;
}

layer::VocabularyInputs Moved(layer::VocabularyInputs inputs) {
  for (at::Tensor* x : {&inputs.hidden, &inputs.weight, &inputs.bias}) {
    if (x->defined()) *x = x->detach().to(TestDevice()).clone().requires_grad_();
  }
  inputs.targets = inputs.targets.to(TestDevice());
  return inputs;
}

// The loss and the gradients of 0.5 * loss, in float64.
std::vector<at::Tensor> Results(const at::Tensor& loss, const layer::VocabularyInputs& inputs) {
  std::vector<at::Tensor> variables = {inputs.hidden, inputs.weight};
  if (inputs.bias.defined()) variables.push_back(inputs.bias);
  std::vector<at::Tensor> results = torch::autograd::grad({loss * 0.5}, variables);
  results.push_back(loss.detach());
  for (at::Tensor& x : results) x = x.to(c10::kCPU, at::kDouble);
  return results;
}

TEST(VocabularyLossTest, IsTheOneOfTheCpu) {
  struct Sizes {
    std::int64_t rows, width, classes;
    bool bias;
    double smoothing;
  };
  for (const Sizes& s : {Sizes{1, 8, 3, false, 0},
                         {63, 16, 65, true, 0.1},
                         {200, 40, 513, true, 0},
                         {70, 24, 1000, false, 0.3}}) {
    const layer::VocabularyInputs inputs = Draw(s.rows, s.width, s.classes, s.bias, s.smoothing);
    const auto want = Results(VocabularyLoss(inputs, layer::Products::kFloat32), inputs);
    const OnDevice on_device;
    const layer::VocabularyInputs moved = Moved(inputs);
    const auto got = Results(VocabularyLoss(moved, layer::Products::kBfloat16), moved);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_LE((got[i] - want[i]).norm().item<double>(), 0.008 * want[i].norm().item<double>())
          << s.classes << ", result " << i;
    }
    const at::NoGradGuard no_grad;
    EXPECT_EQ(got.back().item<double>(), VocabularyLoss(moved, layer::Products::kBfloat16).item<double>());
  }
}

TEST(VocabularyLossTest, WithoutTargetsIsZero) {
  layer::VocabularyInputs inputs = Draw(5, 8, 17, true, 0);
  inputs.targets.fill_(-100);
  inputs = Moved(inputs);
  const OnDevice on_device;
  for (const at::Tensor& x : Results(VocabularyLoss(inputs, layer::Products::kBfloat16), inputs))
    EXPECT_EQ(0, x.abs().max().item<double>());
}

TEST(VocabularyLossTest, TargetThatIsNoClassIsNotANumber) {
  layer::VocabularyInputs inputs = Draw(5, 8, 17, true, 0);
  inputs.targets[3] = 17;
  inputs = Moved(inputs);
  const OnDevice on_device;
  EXPECT_TRUE(std::isnan(VocabularyLoss(inputs, layer::Products::kBfloat16).item<double>()));
}

TEST(DropoutTest, DropsWhatTheCpuDrops) {
  const kernels::Dropout dropout = {.seed = 77, .site = 9, .probability = 0.3};
  const at::Tensor factors = DropoutFactors(dropout, torch::empty({3, 5, 130}, TestDevice())).cpu();
  std::vector<float> want(130);
  for (std::int64_t row = 0; row < 15; ++row) {
    kernels::DropoutFactors(dropout, static_cast<std::uint64_t>(row), 130, want.data());
    EXPECT_TRUE(at::equal(torch::tensor(want), factors.view({15, 130})[row])) << row;
  }
}

// LibTorch's AdamW and Adam in place of the kernel where nothing lies on the device.
TEST(AdamTest, IsTheOneOfTheCpu) {
  for (const Adam::Decay decay : {Adam::Decay::kDecoupled, Adam::Decay::kPenalty}) {
    std::vector<at::Tensor> results[2];
    for (const bool on_device : {false, true}) {
      std::optional<OnDevice> guard;
      if (on_device) guard.emplace();
      const auto placed = [on_device](const at::Tensor& x) { return on_device ? x.to(TestDevice()) : x; };
      torch::manual_seed(3);
      at::Tensor w = placed(torch::randn({70, 61})).requires_grad_();
      at::Tensor b = placed(torch::randn({9})).requires_grad_();
      Adam adam({{{"w", w}}, {{"b", b}}},
                {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .weight_decay = 0.1, .decay = decay});
      for (int update = 0; update < 3; ++update) {
        const at::Tensor gradient = torch::randn({61, 70}).t();  // LibTorch's takes contiguous ones alone.
        w.mutable_grad() = on_device ? placed(gradient) : gradient.contiguous();
        b.mutable_grad() = placed(torch::randn({9}));
        adam.Step(0.01 * (update + 1));
      }
      results[on_device] = {w.detach(), b.detach()};
      for (const auto& [name, tensor] : adam.State()) results[on_device].push_back(tensor);
    }
    ASSERT_EQ(7u, results[0].size());
    for (std::size_t i = 0; i < results[0].size(); ++i)
      EXPECT_LE((results[0][i] - results[1][i].cpu()).abs().max().item<double>(),
                2e-6 * results[0][i].abs().max().item<double>())
          << i;
  }
}

}  // namespace
}  // namespace inlier::layer::gpu
