// The loss of a model and all of its gradients, to compare engines.
#ifndef INLIER_TESTS_CORE_MODELS_LOSS_AND_GRADIENTS_H_
#define INLIER_TESTS_CORE_MODELS_LOSS_AND_GRADIENTS_H_

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/layer_cpu/matmul.h"
#include "core/models/model.h"
#include "tests/core/models/test_models.h"

namespace inlier {

// On the CPU. Of the loss with the input's penalty, where it has one.
struct LossAndGradients {
  at::Tensor loss;
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients;
};

inline LossAndGradients Compute(Model& model, ModelInput input, const at::Tensor& labels,
                                layer::Products products) {
  input.products = products;
  model.zero_grad();
  at::Tensor loss = model.Loss(input, labels);
  if (input.ffn_penalty != nullptr) loss = loss.add(input.ffn_penalty->Value());
  loss.backward();
  LossAndGradients result{.loss = loss.detach().cpu(), .names = {}, .gradients = {}};
  for (const auto& item : model.named_parameters()) {
    result.names.push_back(item.key());
    result.gradients.push_back(item.value().grad().cpu().clone());
  }
  return result;
}

// By LibTorch's operations in bfloat16.
inline LossAndGradients ComputeWithAutocast(Model& model, const ModelInput& input, const at::Tensor& labels) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  LossAndGradients result = Compute(model, input, labels, layer::Products::kReference);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  return result;
}

// The largest difference of a gradient, as a share of the largest number of all gradients.
inline double Difference(const LossAndGradients& a, const LossAndGradients& b) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    largest = std::max(largest, a.gradients[i].abs().max().item<double>());
    difference = std::max(difference, (a.gradients[i] - b.gradients[i]).abs().max().item<double>());
  }
  return difference / largest;
}

// Weights of ordinary size, so that scores and non-linearities matter.
inline void MoveWeights(Model& model, double deviation) {
  torch::manual_seed(21);
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : model.parameters()) parameter.add_(torch::randn_like(parameter), deviation);
}

// With such weights, in train mode.
inline std::shared_ptr<LanguageModel> TrainedModel(const v1::TrialSpec& spec) {
  auto model = SmallModel(spec);
  MoveWeights(*model, 0.2);
  model->train();
  return model;
}

// Two layers over four patches and a token of the class: an odd number of tokens. In double, otherwise as above.
inline std::shared_ptr<Model> TrainedVit(const std::string& attention = "") {
  v1::TrialSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model { vit { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 image_size: 8 patch_size: 4 channels: 1 "
      "classes: 2 } } data { images { } } dropout: 0.1 attention { " +
          attention + " }",
      &spec));
  auto model = MakeModel(spec, {}).value();
  InitialiseWeights(*model, spec, 1);
  model->to(at::kDouble);
  MoveWeights(*model, 0.2);
  model->train();
  return model;
}

// The engines of this processor whose products are not LibTorch's.
inline std::vector<layer::Products> FusedProducts() {
  std::vector<layer::Products> products = {layer::Products::kFloat32};
  if (layer::cpu::CanMultiply<layer::cpu::Bf16>()) products.push_back(layer::Products::kBfloat16);
  return products;
}

inline std::vector<layer::Products> AllProducts() {
  std::vector<layer::Products> products = FusedProducts();
  products.push_back(layer::Products::kReference);
  return products;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_MODELS_LOSS_AND_GRADIENTS_H_
