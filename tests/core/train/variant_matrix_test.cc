// Every architecture with every softmax, norm and optimizer, and with every gate: a few updates stay finite
// and move every weight that has a gradient, and in float64 the gradient of a random number agrees with a
// finite difference. Invalid combinations are refused by the validator (tests/spec).
#include <ATen/Parallel.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/models/make_model.h"
#include "core/train/training_step.h"
#include "spec/trial/resolver.h"
#include "tests/core/models/softmax_list.h"

namespace inlier {
namespace {

// The first text of each member of kSoftmaxes.
std::vector<std::string> OneOfEachSoftmax() {
  std::vector<std::string> texts;
  for (const std::string text : kSoftmaxes) {
    const std::string member = text.substr(0, text.find(' '));
    if (texts.empty() || !texts.back().starts_with(member + " ")) texts.push_back(text);
  }
  return texts;
}

const std::map<std::string, std::string> kModels = {
    {"bert", "bert { vocab_size: 31 max_positions: 12 "},
    {"opt", "opt { vocab_size: 31 max_positions: 12 "},
    {"gpt2", "gpt2 { vocab_size: 31 max_positions: 12 "},
    {"llama", "llama { vocab_size: 31 max_positions: 12 kv_heads: 2 "},
    {"vit", "vit { image_size: 8 patch_size: 4 channels: 3 classes: 5 "}};
const std::vector<std::string> kGates = {"none {}",
                                         "linear {}",
                                         "linear {} pooled: true",
                                         "mlp { hidden_size: 3 }",
                                         "all_heads_linear {}",
                                         "unconditional {}",
                                         "projected {}",
                                         "projected { place: VALUE granularity: HEADWISE }",
                                         "projected { place: KEY } output_factor: 2",
                                         "projected { place: QUERY granularity: HEADWISE }",
                                         "projected { place: OUTPUT }"};
// Further parts of attention, with fields of model.vit.
const std::vector<std::pair<std::string, std::string>> kParts = {
    {"query_key_norm: HEAD_RMS", ""},
    {"query_key_norm: HEAD_LAYER", ""},
    {"key_value_bias: true", ""},
    {"query_key_norm: HEAD_RMS key_value_bias: true gate { projected { granularity: HEADWISE } }",
     "registers: 2"},
    {"", "registers: 3"}};
const std::vector<std::string> kNorms = {"LAYER_NORM", "RMS_NORM_M", "RMS_NORM_S"};
const std::vector<std::string> kOptimizers = {"adam {}",
                                              "adamw {}",
                                              "rmsprop {}",
                                              "rmsprop { momentum: 0.9 centered: true }",
                                              "sgd {}",
                                              "sgd { momentum: 0.9 nesterov: true }",
                                              "ortho_adam {}",
                                              "ortho_adam { side: BOTH block: 8 }",
                                              "ortho_adam { kind: HADAMARD }",
                                              "muon {}",
                                              "soap { refresh_every: 2 }"};

v1::TrialSpec Spec(const std::string& model, const std::string& attention, const std::string& norm,
                   const std::string& optimizer, const std::string& fields = "") {
  v1::TrialSpec spec;
  const std::string text =
      "model { " + kModels.at(model) + fields + " " +
      "layers: 2 hidden_size: 16 heads: 4 ffn_size: 24 initial_std: 0.3 } } attention { " + attention +
      " } norm: " + norm + " training { steps: 4 schedule { constant {} } optimizer { " + optimizer + " } }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return Resolve(spec).value();
}

struct Instance {
  std::shared_ptr<Model> model;
  ModelInput input;
  at::Tensor labels;
};

Instance Make(const v1::TrialSpec& spec) {
  auto model = MakeModel(spec).value();
  InitialiseWeights(*model, spec, 1);
  torch::manual_seed(2);
  Instance made{model, {}, {}};
  if (spec.model().has_vit()) {
    made.input.pixels = torch::randn({3, 3, 8, 8});
    made.labels = torch::tensor({0L, 4L, 2L});
  } else {
    made.input.ids = torch::randint(3, 31, {3, 8}, at::kLong);
    made.labels = made.input.ids;
  }
  return made;
}

class VariantMatrixTest : public ::testing::Test {
 protected:
  // Models this small only lose by a second thread.
  void SetUp() override { at::set_num_threads(1); }
};

void CheckUpdates(const v1::TrialSpec& spec, const std::string& what) {
  const Instance made = Make(spec);
  TrainingStep step = MakeTrainingStep(*made.model, spec.training(), spec.training().steps());
  std::map<std::string, at::Tensor> before;
  for (const auto& item : made.model->named_parameters()) before[item.key()] = item.value().detach().clone();
  double first = 0, last = 0;
  for (int k = 0; k < 4; ++k) {
    last = step.AddMicroBatch(made.input, made.labels).item<double>();
    if (k == 0) first = last;
    ASSERT_TRUE(std::isfinite(last)) << what << ", update " << k;
    ASSERT_TRUE(std::isfinite(step.Apply(k).gradient_norm.item<double>())) << what << ", update " << k;
  }
  EXPECT_NE(first, last) << what;
  int moved = 0;
  for (const auto& item : made.model->named_parameters()) {
    ASSERT_TRUE(item.value().isfinite().all().item<bool>()) << what << ": " << item.key();
    moved += !item.value().detach().equal(before[item.key()]);
  }
  EXPECT_GT(moved, static_cast<int>(before.size()) / 2) << what;
}

void CheckGradient(const v1::TrialSpec& spec, const std::string& what) {
  const Instance made = Make(spec);
  made.model->to(at::kDouble);
  made.model->eval();
  ModelInput input = made.input;
  if (input.pixels.defined()) input.pixels = input.pixels.to(at::kDouble);
  made.model->Loss(input, made.labels).backward();
  const at::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  auto parameters = made.model->named_parameters();
  auto& item =
      parameters[torch::randint(static_cast<std::int64_t>(parameters.size()), {1}).item<std::int64_t>()];
  at::Tensor numbers = item.value().view({-1});
  const std::int64_t index = torch::randint(numbers.numel(), {1}).item<std::int64_t>();
  const double slope = item.value().grad().view({-1})[index].item<double>();
  numbers[index] += kStep;
  const double above = made.model->Loss(input, made.labels).item<double>();
  numbers[index] -= 2 * kStep;
  const double below = made.model->Loss(input, made.labels).item<double>();
  EXPECT_NEAR((above - below) / (2 * kStep), slope, 1e-7 * std::max(1.0, std::abs(slope)))
      << what << ": " << item.key() << " " << index;
}

TEST_F(VariantMatrixTest, ModelsSoftmaxesNormsAndOptimizers) {
  std::size_t count = 0;
  for (const auto& [model, fields] : kModels) {
    for (const std::string& softmax : OneOfEachSoftmax()) {
      for (const std::string& norm : kNorms) {
        const std::string attention = "softmax { " + softmax + " }";
        CheckGradient(Spec(model, attention, norm, "adamw {}"), model + ", " + softmax + ", " + norm);
        for (const std::string& optimizer : kOptimizers) {
          CheckUpdates(Spec(model, attention, norm, optimizer),
                       model + ", " + softmax + ", " + norm + ", " + optimizer);
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(count, 5 * OneOfEachSoftmax().size() * 3 * 11);
}

TEST_F(VariantMatrixTest, ModelsGatesAndSoftmaxes) {
  for (const auto& [model, fields] : kModels) {
    for (const std::string& gate : kGates) {
      for (const std::string& softmax : OneOfEachSoftmax()) {
        const v1::TrialSpec spec =
            Spec(model, "softmax { " + softmax + " } gate { " + gate + " }", "LAYER_NORM", "adamw {}");
        CheckUpdates(spec, model + ", " + softmax + ", " + gate);
        CheckGradient(spec, model + ", " + softmax + ", " + gate);
      }
    }
  }
}

TEST_F(VariantMatrixTest, ModelsPartsSoftmaxesAndOptimizers) {
  for (const auto& [model, fields] : kModels) {
    for (const auto& [attention, vit_fields] : kParts) {
      if (attention.empty() && model != "vit") continue;
      const std::string others = model == "vit" ? vit_fields : "";
      const std::string what = model + ", " + attention + ", " + others + ", ";
      for (const std::string& softmax : OneOfEachSoftmax()) {
        const std::string both = attention + " softmax { " + softmax + " }";
        CheckGradient(Spec(model, both, "LAYER_NORM", "adamw {}", others), what + softmax);
        CheckUpdates(Spec(model, both, "LAYER_NORM", "adamw {}", others), what + softmax);
      }
      for (const std::string& optimizer : kOptimizers)
        CheckUpdates(Spec(model, attention, "RMS_NORM_S", optimizer, others), what + optimizer);
    }
  }
}

}  // namespace
}  // namespace inlier
