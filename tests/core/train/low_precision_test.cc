// Training with rounded operands: what each product reads, written out; roundings by chance; Hadamard matrices along tokens; whole
// models, their engine, their float evaluations and their learned scales.
#include "core/train/low_precision/low_precision.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random_stream.h"
#include "core/models/make_model.h"
#include "core/models/sites.h"
#include "core/optim/make_optimizer.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/quant/number_format.h"
#include "core/quant/part_grid.h"
#include "core/train/engine.h"
#include "core/train/training_step.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

v1::LowPrecisionSpec LowPrecisionFrom(const std::string& text) {
  v1::TrialSpec trial;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString("training { low_precision { " + text + " } }", &trial))
      << text;
  return Resolve(trial)->training().low_precision();
}

OperandRounding RoundingFrom(const std::string& part) {
  return RoundingOf(LowPrecisionFrom("weights { " + part + " }").weights());
}

at::Tensor WideNumbers(std::int64_t rows, std::int64_t columns, at::ScalarType type = at::kDouble) {
  return torch::randn({rows, columns}, type) * torch::exp2(torch::randint(-6, 6, {rows, columns}).to(type));
}

TEST(LowPrecisionTest, RoundingToTheNearestIsThatOfQuantization) {
  torch::manual_seed(1);
  using Part = LinearQuantizationOptions::Part;
  const std::vector<std::pair<std::string, Part>> parts = {
      {"bits: 8", {.bits = 8, .scope = ScaleScope::kTensor}},
      {"bits: 4 scale_axis: TOKEN", {.bits = 4, .scope = ScaleScope::kRow}},
      {"bits: 4 group_size: 16", {.bits = 4, .scope = ScaleScope::kRow, .group_size = 16}},
      {"format: FP8_E4M3 group_size: 16 group_rows: 16",
       {.bits = 8, .scope = ScaleScope::kRow, .group_size = 16, .group_rows = 16, .format = v1::FP8_E4M3}},
      {"format: FP8_E5M2", {.bits = 8, .scope = ScaleScope::kTensor, .format = v1::FP8_E5M2}},
      {"format: MXFP4", {.bits = 4, .scope = ScaleScope::kRow, .format = v1::MXFP4}},
      {"format: MXFP8_E4M3", {.bits = 8, .scope = ScaleScope::kRow, .format = v1::MXFP8_E4M3}},
      {"format: NVFP4", {.bits = 4, .scope = ScaleScope::kRow, .format = v1::NVFP4}}};
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor x = WideNumbers(40, 50).to(type);
    for (const auto& [text, part] : parts) {
      const at::Tensor rounded = RoundOperand(x, RoundingFrom(text), 1);
      EXPECT_EQ(rounded.scalar_type(), type);
      EXPECT_TRUE(
          at::equal(rounded, RoundToPart(x, GridOfPart(x, part, LinearQuantizationOptions::Grid::kAbsmax))))
          << text;
    }
  }
}

// 16 x 16: every tile is what its transpose is, so that both products with a weight read the same numbers.
TEST(LowPrecisionTest, SquareTilesOfBlocksAreTheSameBothWays) {
  torch::manual_seed(2);
  const at::Tensor weight = WideNumbers(48, 32);
  const auto rounded_by = [&](const std::string& part) {
    const OperandRounding rounding = RoundingFrom(part);
    return std::pair(RoundOperand(weight, rounding, 1), RoundOperand(weight.t(), rounding, 1).t());
  };
  const auto [tiles, turned_tiles] = rounded_by("format: NVFP4 group_rows: 16");
  EXPECT_TRUE(at::equal(tiles, turned_tiles));
  const auto [rows, turned_rows] = rounded_by("format: NVFP4");
  EXPECT_FALSE(at::equal(rows, turned_rows));
  // A tile by hand: its scale is that of its largest element.
  const at::Tensor tile = weight.slice(0, 16, 32).slice(1, 16, 32);
  const double of_tensor = weight.abs().max().item<double>() / (448 * 6);
  const at::Tensor scale = RoundToFloat(tile.abs().max() / 6 / of_tensor, kE4M3) * of_tensor;
  const at::Tensor by_hand = RoundToFloat(tile / scale, kE2M1) * scale;
  EXPECT_LT((tiles.slice(0, 16, 32).slice(1, 16, 32) - by_hand).abs().max().item<double>(), 1e-14);
}

// The mean over many draws is x, and each result is one of the two numbers next to x.
TEST(LowPrecisionTest, RoundingByChanceIsUnbiasedAndLandsOnNeighbours) {
  torch::manual_seed(3);
  constexpr int kDraws = 2000;
  for (const std::string part : {"bits: 4", "bits: 3 scale_axis: TOKEN", "format: MXFP4",
                                 "format: FP8_E5M2 group_size: 8", "format: MXFP8_E4M3", "format: MXINT8"}) {
    const at::Tensor x = torch::randn({4, 48}, at::kDouble);
    const OperandRounding rounding = RoundingFrom(part + " stochastic_rounding: true");
    at::Tensor sum = at::zeros_like(x), low = x + 1e9, high = x - 1e9;
    for (int i = 0; i < kDraws; ++i) {
      const at::Tensor rounded = RoundOperand(x, rounding, static_cast<std::uint64_t>(i));
      sum += rounded;
      low = at::minimum(low, rounded);
      high = at::maximum(high, rounded);
    }
    // One step at most, which both ends of are seen unless x is (nearly) on one of them.
    const at::Tensor step = high - low;
    EXPECT_TRUE((low <= x + 1e-12).logical_and(high >= x - 1e-12).all().item<bool>()) << part;
    const at::Tensor error = (sum / kDraws - x).abs();
    const at::Tensor unseen = at::where(step.eq(0), 3e-3 * x.abs().max(), at::zeros_like(step));
    EXPECT_TRUE((error <= 5 * 0.5 * step / std::sqrt(kDraws) + unseen).all().item<bool>()) << part;
    EXPECT_LT((sum / kDraws - x).mean().abs().item<double>(),
              5 * 0.5 * step.max().item<double>() / std::sqrt(kDraws * 192.0))
        << part;
    // Not more than two numbers: a third draw set is on one of the ends.
    for (std::uint64_t seed = 10000; seed < 10050; ++seed) {
      const at::Tensor rounded = RoundOperand(x, rounding, seed);
      EXPECT_TRUE((rounded == low).logical_or(rounded == high).logical_or(step == 0).all().item<bool>())
          << part;
    }
    EXPECT_TRUE(at::equal(RoundOperand(x, rounding, 7), RoundOperand(x, rounding, 7))) << part;
    EXPECT_FALSE(at::equal(RoundOperand(x, rounding, 7), RoundOperand(x, rounding, 8))) << part;
  }
}

TEST(LowPrecisionTest, DrawsDoNotDependOnTheDevicesGeneratorNorMoveIt) {
  const at::Tensor x = torch::randn({8, 64});
  const OperandRounding rounding = RoundingFrom("format: MXFP4 stochastic_rounding: true");
  torch::manual_seed(4);
  const at::Tensor first = RoundOperand(x, rounding, 5), after = torch::rand({3});
  torch::manual_seed(4);
  EXPECT_TRUE(at::equal(after, torch::rand({3})));
  EXPECT_TRUE(at::equal(first, RoundOperand(x, rounding, 5)));
}

TEST(LowPrecisionTest, AHadamardMatrixAlongTokensTwiceIsTheIdentityAndChangesNoProduct) {
  torch::manual_seed(5);
  RandomStream signs(6, "signs");
  const at::Tensor matrix = HadamardMatrix(16, signs);
  const at::Tensor x = torch::randn({64, 6}, at::kDouble), g = torch::randn({64, 5}, at::kDouble);
  EXPECT_LT((RotateTokens(RotateTokens(x, matrix), matrix.t()) - x).abs().max().item<double>(), 1e-14);
  const at::Tensor product = at::matmul(RotateTokens(g, matrix).t(), RotateTokens(x, matrix));
  EXPECT_LT((product - at::matmul(g.t(), x)).abs().max().item<double>(), 1e-13);
  EXPECT_GT((RotateTokens(x, matrix) - x).abs().max().item<double>(), 0.5);
  EXPECT_THAT(
      [&] {
        RotateTokens(torch::randn({40, 6}), matrix);
      },
      testing::Throws<c10::Error>(testing::Property(
          &c10::Error::what_without_backtrace,
          testing::HasSubstr("training.low_precision.hadamard_size: 16 does not divide the 40 tokens"))));
}

struct Products {
  at::Tensor x, weight, bias, gradient, y;
};

// Of a linear of (2, 24, 20) and (12, 20), its weight the transpose of a parameter.
Products RunLinear(const LinearRounding& rounding) {
  torch::manual_seed(7);
  Products p;
  p.x = WideNumbers(48, 20).view({2, 24, 20}).requires_grad_();
  p.weight = WideNumbers(20, 12).requires_grad_();
  p.bias = torch::randn({12}, at::kDouble).requires_grad_();
  p.gradient = WideNumbers(48, 12).view({2, 24, 12});
  p.y = RoundedLinear(p.x, p.weight.t(), p.bias, rounding);
  p.y.backward(p.gradient);
  return p;
}

void ExpectClose(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  EXPECT_LE((actual - expected).abs().max().item<double>(), 1e-13 * expected.abs().max().item<double>())
      << what;
}

// Each product against operands that are rounded by hand.
TEST(LowPrecisionTest, EachProductReadsItsOwnRoundedOperands) {
  RandomStream signs(8, "signs");
  const at::Tensor matrix = HadamardMatrix(16, signs);
  const std::string plain = "format: MXFP4", by_chance = plain + " stochastic_rounding: true";
  for (const bool rotated : {false, true}) {
    for (const bool with_gradients : {false, true}) {
      LinearRounding rounding{.weights = RoundingFrom("bits: 4 scale_axis: TOKEN"),
                              .inputs = RoundingFrom(plain),
                              .gradients = {},
                              .stream = "low_precision/a",
                              .seed = 9};
      if (with_gradients) rounding.gradients = RoundingFrom(by_chance);
      if (rotated) rounding.rotation = matrix;
      const Products p = RunLinear(rounding);
      const at::NoGradGuard no_grad;
      const at::Tensor x = p.x.detach().view({48, 20}), w = p.weight.detach().t(),
                       g = p.gradient.view({48, 12});
      const auto round = [&](const at::Tensor& operand, const std::optional<OperandRounding>& how,
                             const std::string& name) {
        return how ? RoundOperand(operand, *how, RandomStream(9, "low_precision/a/" + name).Next()) : operand;
      };
      const at::Tensor xq = round(x, rounding.inputs, ""), wq = round(w, rounding.weights, "");
      ExpectClose(p.y.detach().view({48, 12}), at::matmul(xq, wq.t()) + p.bias, "y");
      ExpectClose(p.bias.grad(), g.sum(0), "bias");
      const at::Tensor of_x = with_gradients ? at::matmul(round(g, rounding.gradients, "gradient"),
                                                          round(w.t(), rounding.weights, "").t())
                                             : at::matmul(g, wq);
      ExpectClose(p.x.grad().view({48, 20}), of_x, "x");
      const auto turned = [&](const at::Tensor& rows) {
        return (rotated ? RotateTokens(rows, matrix) : rows).t();
      };
      const bool anew = with_gradients || rotated;
      const at::Tensor of_w = anew ? at::matmul(round(turned(g), rounding.gradients, "gradient by feature"),
                                                round(turned(x), rounding.inputs, "").t())
                                   : at::matmul(g.t(), xq);
      ExpectClose(p.weight.grad(), of_w.t(), "weight");
    }
  }
}

struct Made {
  std::shared_ptr<Model> model;
  ModelInput input;
  at::Tensor labels;
  v1::TrainingSpec training;
};

const std::vector<std::string> kRoundedModels = {
    "bert { vocab_size: 31 max_positions: 8 ", "opt { vocab_size: 31 max_positions: 8 ",
    "gpt2 { vocab_size: 31 max_positions: 8 ", "llama { vocab_size: 31 max_positions: 8 "};

Made MakeTraining(const std::string& architecture, const std::string& low_precision,
                  at::ScalarType type = at::kDouble) {
  at::set_num_threads(1);
  v1::TrialSpec spec;
  const std::string text =
      "model { " + architecture + "layers: 3 hidden_size: 16 heads: 2 ffn_size: 24 } } training { steps: 1 " +
      (low_precision.empty() ? "" : "low_precision { " + low_precision + " }") + " optimizer { sgd {} } }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  spec = *Resolve(spec);
  Made made{*MakeModel(spec), {}, {}, spec.training()};
  InitialiseWeights(*made.model, spec, 1);
  torch::manual_seed(2);
  made.input.ids = torch::randint(3, 31, {4, 8}, at::kLong);
  made.labels = made.input.ids;
  made.model->to(type);
  made.model->eval();
  const at::NoGradGuard no_grad;
  for (at::Tensor& parameter : made.model->parameters()) parameter.add_(torch::randn_like(parameter), 0.2);
  return made;
}

struct StepResult {
  double loss;
  std::vector<at::Tensor> gradients;
};

StepResult StepOf(Made& made) {
  TrainingStep step = MakeTrainingStep(*made.model, made.training, 1);
  const double loss = step.AddMicroBatch(made.input, made.labels).item<double>();
  StepResult result{loss, {}};
  for (const at::Tensor& gradient : step.Gradients()) result.gradients.push_back(gradient.clone());
  for (at::Tensor& parameter : made.model->parameters()) parameter.mutable_grad().reset();
  return result;
}

// Sixteen bits of everything: the formulas of the exact gradient but for roundings of 2^-15.
TEST(LowPrecisionTest, FineRoundingIsNearlyFloatInEveryModel) {
  const std::string part = "{ bits: 16 scale_axis: TOKEN }";
  for (const std::string& architecture : kRoundedModels) {
    Made exact = MakeTraining(architecture, "");
    exact.training.set_engine(v1::TrainingSpec::REFERENCE);
    const StepResult expected = StepOf(exact);
    for (const std::string more : {"", " hadamard_size: 8"}) {
      Made made = MakeTraining(architecture,
                               "weights " + part + " activations " + part + " gradients " + part + more);
      const StepResult rounded = StepOf(made);
      EXPECT_NEAR(rounded.loss, expected.loss, 1e-3) << architecture;
      EXPECT_NE(rounded.loss, expected.loss) << architecture;
      for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
        const double size = expected.gradients[i].abs().max().item<double>();
        EXPECT_LT((rounded.gradients[i] - expected.gradients[i]).abs().max().item<double>(),
                  3e-3 * std::max(size, 1e-3))
            << architecture << more << " parameter " << i;
      }
    }
  }
}

// Names of all linears that a pass multiplies by the arithmetic.
TEST(LowPrecisionTest, TheLinearsOfTheLayersAreRoundedAndNoOthers) {
  struct Names : LinearArithmetic {
    at::Tensor Product(const std::string& name, const at::Tensor& x, const at::Tensor& weight,
                       const at::Tensor& bias) override {
      names.insert(name);
      return at::linear(x, weight, bias);
    }
    std::set<std::string> names;
  };
  const std::vector<std::size_t> of_layer = {6, 6, 4, 7};
  for (std::size_t i = 0; i < kRoundedModels.size(); ++i) {
    Made made = MakeTraining(kRoundedModels[i], "weights { }");
    Names seen;
    made.input.linears = &seen;
    made.model->Loss(made.input, made.labels);
    std::size_t within = 0;
    for (const std::string& name : seen.names) within += LayerOf(name) ? 1 : 0;
    EXPECT_EQ(within, 3 * of_layer[i]) << kRoundedModels[i];
    // Each has learned scales where they are asked for.
    const LowPrecision learned(
        LowPrecisionFrom("weights { } activations { } learned_scales: true float_last_layers: 1"),
        *made.model);
    std::set<std::string> scales, expected;
    for (const auto& [name, scale] : learned.Scales()) scales.insert(name);
    for (const std::string& name : seen.names) {
      if (!LayerOf(name) || *LayerOf(name) == 2) continue;
      expected.insert({name + ".weight.log_scale", name + ".input.log_scale"});
    }
    EXPECT_EQ(scales, expected);
  }
}

TEST(LowPrecisionTest, FirstAndLastLayersStayFloat) {
  const std::string parts = "weights { bits: 2 } ";
  Made all = MakeTraining(kRoundedModels[2], parts), none = MakeTraining(kRoundedModels[2], "");
  none.training.set_engine(v1::TrainingSpec::REFERENCE);
  Made middle = MakeTraining(kRoundedModels[2], parts + "float_first_layers: 1 float_last_layers: 1");
  const double of_all = StepOf(all).loss, of_none = StepOf(none).loss, of_middle = StepOf(middle).loss;
  EXPECT_NE(of_all, of_middle);
  EXPECT_NE(of_none, of_middle);
  Made outside = MakeTraining(kRoundedModels[2], parts + "float_first_layers: 3");
  EXPECT_EQ(StepOf(outside).loss, of_none);
}

TEST(LowPrecisionTest, ThePassDecidesTheDraws) {
  const std::string part = "{ format: MXFP4 stochastic_rounding: true }";
  Made made = MakeTraining(kRoundedModels[3], "gradients " + part + " hadamard_size: 16");
  made.input.dropout_seed = 1;
  const StepResult first = StepOf(made), again = StepOf(made);
  made.input.dropout_seed = 2;
  const StepResult other = StepOf(made);
  bool differs = false;
  for (std::size_t i = 0; i < first.gradients.size(); ++i) {
    EXPECT_TRUE(at::equal(first.gradients[i], again.gradients[i])) << i;
    differs = differs || !at::equal(first.gradients[i], other.gradients[i]);
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(first.loss, other.loss);  // The forward pass is float.
}

TEST(LowPrecisionTest, TheFusedEngineLeavesItToTheReference) {
  Made made = MakeTraining(kRoundedModels[0], "weights { }", at::kFloat);
  const EngineChoice choice = ChooseEngine(made.training, *made.model, c10::kCPU);
  EXPECT_EQ(choice.products, layer::Products::kReference);
  EXPECT_THAT(choice.reason, testing::StartsWith("training.low_precision rounds what linears multiply"));
  EXPECT_EQ(ChooseEngine(made.training, *made.model, c10::kCUDA).reason, choice.reason);
}

TEST(LowPrecisionTest, LearnedScalesHaveGradientsAndDoNotDecay) {
  Made made =
      MakeTraining(kRoundedModels[1], "weights { bits: 4 } activations { bits: 4 } learned_scales: true");
  made.training.mutable_optimizer()->mutable_adamw()->set_weight_decay(0.5);
  made.training.mutable_optimizer()->mutable_adamw()->set_learning_rate(0.01);
  TrainingStep step = MakeTrainingStep(*made.model, made.training, 10);
  step.AddMicroBatch(made.input, made.labels);
  const std::vector<at::Tensor> gradients = step.Gradients();
  const std::size_t of_model = made.model->parameters().size();
  ASSERT_EQ(gradients.size(), of_model + 2 * 18);
  for (std::size_t i = of_model; i < gradients.size(); ++i) {
    EXPECT_TRUE(std::isfinite(gradients[i].item<double>())) << i;
    EXPECT_NE(gradients[i].item<double>(), 0) << i;
  }
  EXPECT_FALSE(IsDecayed("model.decoder.layers.0.fc1.weight.log_scale", true));
  const auto scales = [&] {
    std::map<std::string, double> found;
    for (const auto& [name, tensor] : step.optimizer().State()) {
      if (name.starts_with("learned/")) found[name] = tensor.item<double>();
    }
    return found;
  };
  const std::map<std::string, double> before = scales();
  EXPECT_EQ(before.size(), 36u);
  step.Apply(0);
  step.AddMicroBatch(made.input, made.labels);
  step.Apply(1);
  for (const auto& [name, scale] : scales()) EXPECT_NE(scale, before.at(name)) << name;
}

}  // namespace
}  // namespace inlier
