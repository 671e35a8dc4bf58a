// Gradients against finite differences in float64: along a random direction of all parameters together, and
// of single numbers, for every architecture with each softmax, gate, norm, position and projection.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/core/models/loss_and_gradients.h"
#include "tests/core/models/test_models.h"
#include "tests/core/support/test_scripts.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

double LossAt(Model& model, const ModelInput& input, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  return model.Loss(input, labels).item<double>();
}

void CheckGradientsOf(const std::shared_ptr<Model>& model, const ModelInput& input, const at::Tensor& labels,
                      const std::string& what) {
  model->Loss(input, labels).backward();

  constexpr double kStep = 1e-6;  // Small, so that no clip or ReLU changes sides within it.
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parameters = model->parameters();
  std::vector<at::Tensor> direction;
  double expected = 0, squares = 0;
  for (const at::Tensor& parameter : parameters) {
    direction.push_back(torch::randn_like(parameter));
    squares += direction.back().square().sum().item<double>();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    direction[i] /= std::sqrt(squares);
    expected += (direction[i] * parameters[i].grad()).sum().item<double>();
  }
  const auto move = [&](double step) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(direction[i], step);
  };
  move(kStep);
  const double above = LossAt(*model, input, labels);
  move(-2 * kStep);
  const double below = LossAt(*model, input, labels);
  move(kStep);
  EXPECT_NEAR((above - below) / (2 * kStep), expected, 1e-7 * std::max(1.0, std::abs(expected))) << what;

  // Single numbers of some parameters, others in every check.
  constexpr std::int64_t kEvery = 5;
  std::int64_t place = torch::randint(kEvery, {1}).item<std::int64_t>();
  for (const auto& item : model->named_parameters()) {
    if (++place % kEvery != 0) continue;
    at::Tensor numbers = item.value().view({-1});
    const std::int64_t index = torch::randint(numbers.numel(), {1}).item<std::int64_t>();
    const double slope = item.value().grad().view({-1})[index].item<double>();
    numbers[index] += kStep;
    const double higher = LossAt(*model, input, labels);
    numbers[index] -= 2 * kStep;
    const double lower = LossAt(*model, input, labels);
    numbers[index] += kStep;
    EXPECT_NEAR((higher - lower) / (2 * kStep), slope, 1e-7 * std::max(1.0, std::abs(slope)))
        << what << ": " << item.key() << " " << index;
  }
}

void CheckGradients(const v1::TrialSpec& spec, bool padded, const std::string& what) {
  const auto model = SmallModel(spec);
  model->to(at::kDouble);
  MoveWeights(*model, 0.2);
  ModelInput input = SmallInput();
  at::Tensor labels = SomeLabels(input);
  if (padded) {
    PadSecond(input);
    labels = labels.masked_fill(input.attention_mask.eq(0), kIgnoredLabel);
  }
  CheckGradientsOf(model, input, labels, what);
  if (!model->can_fuse(layer::Place::kCpuFloat32)) return;
  model->zero_grad();
  input.products = layer::Products::kFloat32;
  CheckGradientsOf(model, input, labels, what + ", fused");
}

class GradientCheckTest : public ::testing::Test {
 protected:
  // Models this small only lose by a second thread.
  void SetUp() override { at::set_num_threads(1); }
};

TEST_F(GradientCheckTest, EverySoftmaxAndGate) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string softmax : kSoftmaxes) {
      for (const std::string gate : kGates) {
        // Every softmax with a plain and a gated head, and every gate over the first two.
        const bool every_gate = softmax == kSoftmaxes[0] || softmax == kSoftmaxes[1];
        if (!every_gate && gate != kGates[0] && gate != kGates[1]) continue;
        const v1::TrialSpec spec = SmallSpec(
            architecture, "softmax { " + softmax + " } gate { " + gate + " }", "activation: GELU_ERF");
        CheckGradients(spec, false, architecture + ", " + softmax + ", " + gate);
        CheckGradients(spec, true, architecture + ", " + softmax + ", " + gate + ", padded");
      }
    }
  }
}

TEST_F(GradientCheckTest, EveryPartOfAttention) {
  for (const std::string architecture : kArchitectures) {
    const std::string fields = architecture == "llama" ? "kv_heads: 2" : "activation: GELU_ERF";
    for (const std::string part : kAttentionParts) {
      CheckGradients(SmallSpec(architecture, part, fields), /*padded=*/architecture != "opt",
                     architecture + ", " + part);
    }
    for (const std::string softmax : kSoftmaxes) {
      CheckGradients(SmallSpec(architecture, "key_value_bias: true softmax { " + softmax + " }", fields),
                     true, architecture + ", key_value_bias, " + softmax);
    }
  }
}

TEST_F(GradientCheckTest, ScriptsOfAttention) {
  const TemporaryFolder folder;
  const std::string softmax = WriteScript(folder.path() / "a.pt", SoftmaxBytes(kOwnSoftmax));
  const std::string gate = WriteScript(folder.path() / "b.pt", OwnGateBytes(4));
  const std::string scripts = "softmax { script { file: '" + softmax + "' } } gate { script { file: '" +
                              gate + "' } output_factor: 2 } ";
  for (const std::string architecture : kArchitectures) {
    const std::string fields = architecture == "llama" ? "kv_heads: 2" : "activation: GELU_ERF";
    for (const std::string more : {"", "key_value_bias: true"})
      CheckGradients(SmallSpec(architecture, scripts + more, fields), true,
                     architecture + ", scripts " + more);
  }
}

TEST_F(GradientCheckTest, EveryPlacementNonlinearityAndProjection) {
  for (const std::string fields :
       {"norm_placement: PRE", "norm_placement: POST", "norm_placement: PERI", "norm_placement: ENDS",
        "activation: RELU", "activation: GELU_TANH", "activation: SILU"}) {
    for (const std::string architecture : kArchitectures) {
      CheckGradients(SmallSpec(architecture, "", fields), false, architecture + ", " + fields);
    }
  }
  CheckGradients(SmallSpec("opt", "", "embedding_size: 8"), false, "opt with projections");
}

TEST_F(GradientCheckTest, EveryNormPositionAndGroupOfKeys) {
  for (const std::string architecture : kArchitectures) {
    for (const std::string norm : {"RMS_NORM_M", "RMS_NORM_S", "DYT", "DERF", "DYT norm_gate: 3",
                                   "LAYER_NORM norm_gate: 2", "RMS_NORM_S norm_gate: 3"}) {
      CheckGradients(SmallSpec(architecture, "", "activation: GELU_ERF", "norm: " + norm), false,
                     architecture + ", " + norm);
    }
  }
  for (const std::string architecture : {"bert", "gpt2", "llama"}) {
    for (const std::string position : {"ROTARY", "NONE"}) {
      CheckGradients(SmallSpec(architecture, "", "position: " + position), true,
                     architecture + ", " + position);
    }
  }
  CheckGradients(SmallSpec("llama", "softmax { ncs { beta: 0.5 length: ROW } }", "kv_heads: 2"), true,
                 "llama, grouped keys");
  CheckGradients(SmallSpec("llama", "", "kv_heads: 1 biases: true tied_head: true"), false,
                 "llama, one key, biases, tied");
  CheckGradients(SmallSpec("gpt2", "", "biases: false tied_head: false"), false, "gpt2, no biases, untied");
  CheckGradients(SmallSpec("gpt2", "window: 3", ""), true, "gpt2, a window");
  CheckGradients(SmallSpec("gpt2", "query_key_norm: HEAD_RMS", "norm_placement: ENDS", "residual_gain: 0.4"),
                 true, "gpt2, an outlier-protected block");
  CheckGradients(SmallSpec("llama", "", "norm_placement: PERI", "norm: RMS_NORM_M norm_gate: 2"), true,
                 "llama, peri, gated norms");
  for (const std::string architecture : {"gpt2", "llama"}) {
    CheckGradients(SmallSpec(architecture, "", "tied_head: false", "embedding_projection: true"), true,
                   architecture + ", embedding projection");
  }
  for (const std::string fields :
       {"head_size: 6 kv_heads: 2", "window: 2 window_period: 2", "score_cap: 2 logit_cap: 3 score_size: 5",
        "norm_placement: PERI embedding_factor: 3", "parallel: true gated_ffn: false rotary_share: 0.5"})
    CheckGradients(SmallSpec("llama", "", fields), true, "llama, " + fields);
}

TEST_F(GradientCheckTest, ClassifiersOfPairsWithClassesAndNumbers) {
  for (const std::string softmax : {kSoftmaxes[0], kSoftmaxes[1]}) {
    for (const bool numbers : {false, true}) {
      v1::TrialSpec spec = SmallSpec("bert", "softmax { " + softmax + " }", "activation: GELU_ERF");
      spec.mutable_data()->mutable_classification();
      const auto model = MakeModel(spec, {.classes = numbers ? 1 : 4}).value();
      InitialiseWeights(*model, spec, 1);
      model->eval();
      model->to(at::kDouble);
      MoveWeights(*model, 0.2);
      ModelInput input = SmallInput();
      PadSecond(input);
      input.token_type_ids = torch::zeros_like(input.ids);
      input.token_type_ids.slice(1, 4).fill_(1);
      const at::Tensor labels = numbers ? torch::tensor({0.5, -1.25, 3.0}) : torch::tensor({0L, 3L, 3L});
      CheckGradientsOf(model, input, labels, softmax + (numbers ? ", numbers" : ", classes"));
    }
  }
}

}  // namespace
}  // namespace inlier
