// The penalties on activations: their formulas written out, their gradients against finite differences of the whole
// loss in float64, and the engine that takes them.
#include "core/train/regularizer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
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
#include "core/models/sites.h"
#include "core/optim/make_optimizer.h"
#include "core/train/engine.h"
#include "core/train/training_step.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

const std::map<std::string, std::string> kPenalizedModels = {
    {"bert", "bert { vocab_size: 31 max_positions: 12 "},
    {"opt", "opt { vocab_size: 31 max_positions: 12 embedding_size: 8 "},
    {"gpt2", "gpt2 { vocab_size: 31 max_positions: 12 "},
    {"llama", "llama { vocab_size: 31 max_positions: 12 kv_heads: 2 "},
    {"vit", "vit { image_size: 8 patch_size: 4 channels: 3 classes: 5 "}};

const std::vector<std::string> kPenalties = {"ffn_output { weight: 0.7 tau: 0.8 power: 4 }",
                                             "ffn_output { weight: 0.7 tau: 2 }",
                                             "ffn_output { weight: 0.3 power: 2.5 }",
                                             "ffn_output { weight: 0.2 tau: 1.5 power: 3 }",
                                             "ffn_output { weight: 0.4 power: 1 }",
                                             "kurtosis { weight: 0.2 }",
                                             "ffn_output { weight: 0.7 } kurtosis { weight: 0.2 }"};

struct Penalized {
  std::shared_ptr<Model> model;
  ModelInput input;
  at::Tensor labels;
};

// In float64, with weights of ordinary size.
Penalized Make(const std::string& architecture) {
  at::set_num_threads(1);
  v1::TrialSpec spec;
  const std::string text = "model { " + kPenalizedModels.at(architecture) +
                           "layers: 2 hidden_size: 16 heads: 4 ffn_size: 24 } } training { steps: 1 } "
                           "attention { gate { linear {} } }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  spec = *Resolve(spec);
  Penalized made{*MakeModel(spec), {}, {}};
  InitialiseWeights(*made.model, spec, 1);
  torch::manual_seed(2);
  if (spec.model().has_vit()) {
    made.input.pixels = torch::randn({3, 3, 8, 8}, at::kDouble);
    made.labels = torch::tensor({0L, 4L, 2L});
  } else {
    made.input.ids = torch::randint(3, 31, {3, 8}, at::kLong);
    made.labels = made.input.ids;
  }
  made.model->to(at::kDouble);
  made.model->eval();
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : made.model->parameters()) parameter.add_(torch::randn_like(parameter), 0.2);
  return made;
}

v1::RegularizerSpec Penalties(const std::string& text) {
  v1::RegularizerSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// Every penalty with the reference's operations, and those on feed-forward outputs with the fused engine too.
std::vector<std::pair<std::string, layer::Products>> PenaltiesAndEngines() {
  std::vector<std::pair<std::string, layer::Products>> pairs;
  for (const std::string& text : kPenalties) {
    pairs.emplace_back(text, layer::Products::kReference);
    if (!Penalties(text).has_kurtosis()) pairs.emplace_back(text, layer::Products::kFloat32);
  }
  return pairs;
}

// All that a tap sees, in order.
struct Recorder : ActivationTap {
  at::Tensor OnActivation(const std::string& site, const at::Tensor& x) override {
    activations.emplace_back(site, x.detach().clone());
    return x;
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& x) override {
    outputs.emplace_back(site, x.detach().clone());
    return x;
  }
  std::vector<std::pair<std::string, at::Tensor>> activations, outputs;
};

struct LossAndPenalty {
  double loss, penalty;
};

// By the reference's operations.
LossAndPenalty WholeLoss(Penalized& made, const v1::RegularizerSpec& spec) {
  const at::NoGradGuard no_grad;
  Regularizer regularizer(spec);
  ModelInput input = made.input;
  input.ffn_penalty = regularizer.ffn_penalty();
  const double loss = made.model->Loss(input, made.labels, regularizer.tap()).item<double>();
  return {loss, regularizer.Penalty().item<double>()};
}

TEST(RegularizerTest, PenaltiesAreTheirFormulas) {
  // Sites of the two layers, as core/models/sites.h has them.
  const std::map<std::string, std::pair<std::string, int>> expected = {{"bert", {".output.dense", 6}},
                                                                       {"opt", {".fc2", 6}},
                                                                       {"gpt2", {".mlp.c_proj", 4}},
                                                                       {"llama", {".mlp.down_proj", 7}},
                                                                       {"vit", {".output.dense", 6}}};
  for (const auto& [architecture, sites] : expected) {
    Penalized made = Make(architecture);
    Recorder seen;
    made.model->Loss(made.input, made.labels, &seen);
    double power = 0, kurtosis = 0;
    int networks = 0, linears = 0;
    for (const auto& [site, x] : seen.activations) {
      if (!site.ends_with(sites.first) || site.find("attention.output") != std::string::npos) continue;
      ++networks;
      EXPECT_EQ(x.size(-1), 16) << site;
      for (const double value :
           std::vector<double>(x.const_data_ptr<double>(), x.const_data_ptr<double>() + x.numel()))
        power += std::pow(std::abs(value) / 0.5, 3) / static_cast<double>(x.numel());
    }
    for (const auto& [site, y] : seen.outputs) {
      if (site.find_first_of("01") == std::string::npos) continue;
      ++linears;
      const at::Tensor rows = y.reshape({-1, y.size(-1)});
      for (std::int64_t i = 0; i < rows.size(0); ++i) {
        const at::Tensor centred = rows[i] - rows[i].mean();
        const double second = centred.pow(2).mean().item<double>(),
                     fourth = centred.pow(4).mean().item<double>();
        kurtosis += fourth / (second * second) / static_cast<double>(rows.size(0));
      }
    }
    EXPECT_EQ(networks, 2) << architecture;
    EXPECT_EQ(linears, 2 * sites.second) << architecture;
    const auto penalty = [&](const std::string& text) { return WholeLoss(made, Penalties(text)).penalty; };
    EXPECT_NEAR(penalty("ffn_output { weight: 0.1 tau: 0.5 power: 3 }"), 0.1 * power / networks, 1e-10)
        << architecture;
    EXPECT_NEAR(penalty("kurtosis { weight: 0.1 }"), 0.1 * kurtosis / linears, 1e-8) << architecture;
  }
}

// The gradient that an update uses, by each engine that takes the penalty, against finite differences of the whole loss,
// along random directions of all parameters.
TEST(RegularizerTest, GradientsAreThoseOfTheWholeLoss) {
  for (const auto& [architecture, fields] : kPenalizedModels) {
    for (const auto& [text, products] : PenaltiesAndEngines()) {
      const bool fused = products != layer::Products::kReference;
      const std::string what = architecture + ", " + text + (fused ? ", fused" : "");
      const v1::RegularizerSpec spec = Penalties(text);
      Penalized made = Make(architecture);
      v1::OptimizerSpec sgd;
      sgd.mutable_sgd();
      TrainingStep step(*made.model, MakeOptimizer(sgd, ParametersOf(*made.model)),
                        {.schedule = {},
                         .gradient_clip_norm = 0,
                         .gradient_accumulation = 2,
                         .precision = v1::FLOAT32,
                         .products = products,
                         .regularizer = spec});
      const double loss = step.AddMicroBatch(made.input, made.labels).item<double>();
      const auto whole = [&] {
        const LossAndPenalty parts = WholeLoss(made, spec);
        return parts.loss + parts.penalty;
      };
      EXPECT_NEAR(loss + step.penalty().item<double>(), whole(), 1e-12) << what;
      EXPECT_GT(step.penalty().item<double>(), 1e-3) << what;
      const at::NoGradGuard no_grad;
      std::vector<at::Tensor> parameters = made.model->parameters();
      for (int draw = 0; draw < 3; ++draw) {
        std::vector<at::Tensor> direction;
        double expected = 0, squares = 0;
        for (const at::Tensor& parameter : parameters) {
          direction.push_back(torch::randn_like(parameter));
          squares += direction.back().square().sum().item<double>();
        }
        for (std::size_t i = 0; i < parameters.size(); ++i) {
          direction[i] /= std::sqrt(squares);
          expected +=
              2 * (direction[i] * parameters[i].grad()).sum().item<double>();  // Two micro-batches an update.
        }
        constexpr double kStep = 1e-6;
        const auto move = [&](double size) {
          for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(direction[i], size);
        };
        move(kStep);
        const double above = whole();
        move(-2 * kStep);
        const double below = whole();
        move(kStep);
        EXPECT_NEAR((above - below) / (2 * kStep), expected, 1e-6 * std::max(1.0, std::abs(expected)))
            << what;
      }
    }
  }
}

// As for a part of a micro-batch.
TEST(RegularizerTest, AWeightScalesThePenaltyInBothEngines) {
  for (const layer::Products products : {layer::Products::kReference, layer::Products::kFloat32}) {
    Penalized made = Make("opt");
    const v1::RegularizerSpec spec = Penalties(kPenalties[0]);
    v1::OptimizerSpec sgd;
    sgd.mutable_sgd();
    TrainingStep step(*made.model, MakeOptimizer(sgd, ParametersOf(*made.model)),
                      {.schedule = {},
                       .gradient_clip_norm = 0,
                       .gradient_accumulation = 1,
                       .precision = v1::FLOAT32,
                       .products = products,
                       .regularizer = spec});
    EXPECT_EQ(step.HasFusedLoops(), products != layer::Products::kReference);
    const auto gradients = [&](const TrainingStep::Weight& weight) {
      for (at::Tensor& parameter : made.model->parameters()) parameter.mutable_grad().reset();
      step.AddMicroBatch(made.input, made.labels, weight);
      std::vector<at::Tensor> flat;
      for (const at::Tensor& gradient : step.Gradients()) flat.push_back(gradient.flatten());
      return at::cat(flat);
    };
    const at::Tensor of_loss = gradients({.of_loss = 1, .of_penalty = 0});
    const at::Tensor of_half = gradients({.of_loss = 0, .of_penalty = 0.5});
    EXPECT_NEAR(step.penalty().item<double>(), 0.5 * WholeLoss(made, spec).penalty, 1e-12);
    const at::Tensor whole = gradients({});
    EXPECT_LT((whole - of_loss - 2 * of_half).abs().max().item<double>(), 1e-12);
    EXPECT_GT(of_half.abs().max().item<double>(), 1e-3);
  }
}

TEST(RegularizerTest, TheEngineIsTheOneThatTakesThePenalty) {
  const Penalized made = Make("bert");
  v1::TrainingSpec spec;
  ASSERT_NE(ChooseEngine(spec, *made.model, c10::kCPU).products, layer::Products::kReference);
  for (const std::string& text : kPenalties) {
    *spec.mutable_regularizer() = Penalties(text);
    const EngineChoice choice = ChooseEngine(spec, *made.model, c10::kCPU);
    if (spec.regularizer().has_kurtosis()) {
      EXPECT_EQ(choice.products, layer::Products::kReference) << text;
      EXPECT_THAT(choice.reason,
                  testing::StartsWith("training.regularizer.kurtosis needs the outputs of all linears"));
    } else {
      EXPECT_EQ(choice.products, layer::Products::kFloat32) << text;
      EXPECT_EQ(choice.reason, "") << text;
    }
    const EngineChoice on_gpu = ChooseEngine(spec, *made.model, c10::kCUDA);
    EXPECT_EQ(on_gpu.products, layer::Products::kReference) << text;
    EXPECT_THAT(on_gpu.reason,
                testing::StartsWith("training.regularizer needs activations within the layers"));
  }
}

TEST(RegularizerTest, SitesOfFeedForwardOutputsAndOfLayers) {
  for (const char* site :
       {"bert.encoder.layer.0.output.dense", "model.decoder.layers.11.fc2", "transformer.h.3.mlp.c_proj",
        "model.layers.7.mlp.down_proj", "vit.encoder.layer.1.output.dense"}) {
    EXPECT_TRUE(IsFfnOutputSite(site)) << site;
    EXPECT_TRUE(IsWithinLayer(site)) << site;
  }
  for (const char* site : {"bert.encoder.layer.0.attention.output.dense", "transformer.h.3.attn.c_proj",
                           "bert.encoder.layer.0.intermediate.0", "model.decoder.layers.0"})
    EXPECT_FALSE(IsFfnOutputSite(site)) << site;
  for (const char* site : {"lm_head", "classifier", "model.decoder.project_in", "hidden.1",
                           "model.decoder.layers.3", "vit.embeddings.patch_embeddings.projection"})
    EXPECT_FALSE(IsWithinLayer(site)) << site;
}

}  // namespace
}  // namespace inlier
