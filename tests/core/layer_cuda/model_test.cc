// Whole models whose fused layers, loss and optimizer are those of a GPU, run on the CPU.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "core/layer_cpu/matmul.h"
#include "core/optim/make_optimizer.h"
#include "core/train/engine.h"
#include "core/train/training_step.h"
#include "tests/core/layer_cuda/place.h"
#include "tests/core/models/loss_and_gradients.h"
#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

using layer::Products;

// Two layers with heads of 32, which the kernels take.
v1::TrialSpec Spec(const std::string& architecture, const std::string& attention,
                   const std::string& fields = "", const std::string& trial = "") {
  at::set_num_threads(1);  // For so little, threads would only wait for each other.
  return SmallSpec(architecture, attention, fields, trial, "hidden_size: 64 heads: 2 ffn_size: 72 ");
}

LossAndGradients OnDevice(Model& model, ModelInput input, const at::Tensor& labels) {
  const layer::gpu::OnDevice on_device;
  model.to(layer::gpu::TestDevice());
  input.ids = input.ids.to(layer::gpu::TestDevice());
  LossAndGradients result = Compute(model, input, labels.to(layer::gpu::TestDevice()), Products::kBfloat16);
  model.to(c10::kCPU);
  return result;
}

// Dropout's draws included: where one differs, so does everything.
TEST(DeviceModelTest, EqualsTheReferenceWithinBfloat16) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string softmax :
         {kSoftmaxes[0], kSoftmaxes[1], kSoftmaxes[3], kSoftmaxes[4], kSoftmaxes[6]}) {
      for (const std::string gate : {kGates[0], kGates[1], kGates[6]}) {
        // Not OPT's ReLU: where rounding moves a number across 0, its gradient comes or goes.
        const auto model =
            SmallModel(Spec(architecture, "dropout: 0.2 softmax { " + softmax + " } gate { " + gate + " }",
                            architecture == "opt" ? "activation: GELU_ERF" : "", "dropout: 0.1"));
        const std::string what = architecture + ", " + softmax + ", " + gate;
        ASSERT_TRUE(model->can_fuse(layer::Place::kGpuBfloat16)) << what;
        MoveWeights(*model, 0.1);
        model->train();
        ModelInput input = SmallInput();
        input.dropout_seed = 77;
        const at::Tensor labels = SomeLabels(input);
        const LossAndGradients exact = Compute(*model, input, labels, Products::kReference);
        const LossAndGradients device = OnDevice(*model, input, labels);
        const double loss = exact.loss.item<double>();
        EXPECT_NEAR(device.loss.item<double>(), loss, 0.01 * loss) << what;
        // The CPU's rounding is as large: with one of these draws a probability lies at the edge of the clip.
        const double rounding = layer::cpu::CanMultiply<layer::cpu::Bf16>()
                                    ? Difference(exact, Compute(*model, input, labels, Products::kBfloat16))
                                    : 0.08;
        EXPECT_LT(Difference(exact, device), 1.5 * rounding + 0.005) << what;
        input.dropout_seed = 78;
        EXPECT_GT(Difference(exact, OnDevice(*model, input, labels)), 0.1) << what;
      }
    }
  }
}

TEST(DeviceModelTest, RoundingIsThatOfAutocast) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string placement : {"PRE", "POST"}) {
      const auto model = SmallModel(
          Spec(architecture, "softmax { clipped { gamma: -0.02 } }", "norm_placement: " + placement));
      MoveWeights(*model, 0.1);
      model->train();
      const ModelInput input = SmallInput(4, 12);
      const at::Tensor labels = SomeLabels(input);
      const LossAndGradients exact = Compute(*model, input, labels, Products::kReference);
      const double device = Difference(exact, OnDevice(*model, input, labels));
      const double autocast = Difference(exact, ComputeWithAutocast(*model, input, labels));
      EXPECT_LT(device, 1.5 * autocast) << architecture << ", " << placement;
      EXPECT_GT(device, autocast / 10) << architecture << ", " << placement;
    }
  }
}

// The trainer's steps with dropout, accumulation, clipping and AdamW.
TEST(DeviceModelTest, TrainsAsTheCpuDoes) {
  const v1::TrialSpec spec = Spec(
      "bert", "dropout: 0.1 softmax { clipped { gamma: -0.02 } } gate { linear {} }", "",
      "dropout: 0.1 training { precision: FLOAT32 gradient_clip_norm: 1 gradient_accumulation: 2 schedule { "
      "constant {} } optimizer { adamw { learning_rate: 0.003 weight_decay: 0.1 } } }");
  std::vector<double> losses[2];
  for (const bool on_device : {false, true}) {
    std::optional<layer::gpu::OnDevice> guard;
    if (on_device) guard.emplace();
    const c10::Device place = on_device ? layer::gpu::TestDevice() : c10::Device(c10::kCPU);
    const auto model = SmallModel(spec);
    model->to(place);
    model->train();
    TrainingStep step(*model, MakeOptimizer(spec.training().optimizer(), ParametersOf(*model)),
                      {.schedule = MakeLrSchedule(spec.training().schedule(), 0.003, 20),
                       .gradient_clip_norm = 1,
                       .gradient_accumulation = 2,
                       .precision = v1::BFLOAT16,
                       .products = on_device ? Products::kBfloat16 : Products::kFloat32});
    ModelInput input = SmallInput(4, 12);
    const at::Tensor labels = SomeLabels(input).to(place);
    input.ids = input.ids.to(place);
    for (int update = 0; update < 20; ++update) {
      for (std::uint64_t part = 0; part < 2; ++part) {
        input.dropout_seed = static_cast<std::uint64_t>(update) * 2 + part;
        losses[on_device].push_back(step.AddMicroBatch(input, labels).item<double>());
      }
      step.Apply(update);
    }
  }
  EXPECT_LT(losses[0].back(), 0.8 * losses[0].front());
  for (std::size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 0.02) << i;
}

TEST(DeviceModelTest, EngineOfATraining) {
  const auto choose = [](const v1::TrialSpec& spec) {
    const auto model = SmallModel(spec);
    return ChooseEngine(spec.training(), *model, c10::kCUDA);
  };
  const std::string bfloat16 = "training { precision: BFLOAT16 }";
  EXPECT_EQ(Products::kBfloat16, choose(Spec("llama", "", "", bfloat16)).products);
  EXPECT_EQ("", choose(Spec("llama", "", "", bfloat16)).reason);
  for (const v1::TrialSpec& spec : {Spec("llama", ""), Spec("llama", "softmax { softpick {} }", "", bfloat16),
                                    SmallSpec("llama", "", "", bfloat16)}) {
    EXPECT_EQ(Products::kReference, choose(spec).products);
    EXPECT_NE("", choose(spec).reason);
  }
  const EngineChoice reference =
      choose(Spec("llama", "", "", "training { precision: BFLOAT16 engine: REFERENCE }"));
  EXPECT_EQ(Products::kReference, reference.products);
  EXPECT_EQ("", reference.reason);
}

}  // namespace
}  // namespace inlier
