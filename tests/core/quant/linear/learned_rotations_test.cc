// Rotations that are learned: their gradients against differences, what they must not change, and what they are good for.
#include "core/quant/linear/learned_rotations.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "core/optim/cayley_sgd.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/quant/linear/linear_quantization.h"
#include "core/quant/slice_grid.h"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

using torch::NoGradGuard;

double Largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

// In place of rounding, which has no differences to compare with.
at::Tensor Bent(const at::Tensor& x) { return x + 0.2 * (3 * x).sin(); }

at::Tensor GradientByDifferences(const std::function<double(const at::Tensor&)>& f, const at::Tensor& at) {
  constexpr double kStep = 1e-5;
  at::Tensor gradient = at::zeros_like(at);
  for (std::int64_t i = 0; i < at.numel(); ++i) {
    at::Tensor up = at.clone(), down = at.clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    gradient.view(-1)[i] = (f(up) - f(down)) / (2 * kStep);
  }
  return gradient;
}

// One reader of a norm, whose outputs are a context of two heads, and one writer of the stream.
struct TwoLinears {
  at::Tensor x = at::randn({5, 8}, at::kDouble), gain = at::rand({8}, at::kDouble) + 0.5;
  at::Tensor reader = at::randn({12, 8}, at::kDouble), writer = at::randn({8, 12}, at::kDouble);

  at::Tensor Loss(const at::Tensor& q, const at::Tensor& r2) const {
    const auto by_head = [&](const at::Tensor& part) {
      return at::cat({at::matmul(part.slice(1, 0, 6), r2), at::matmul(part.slice(1, 6), r2)}, 1);
    };
    const at::Tensor context =
        at::matmul(Bent(at::matmul(x / gain, q)), Bent(at::matmul(reader * gain, q)).t());
    const at::Tensor written = at::matmul(q, Bent(at::matmul(q.t(), by_head(writer))));
    return at::matmul(Bent(by_head(context)), written.t()).sin().mean();
  }
};

TEST(LearnedRotationsTest, AnUpdateFollowsTheGradientOfDifferences) {
  torch::manual_seed(2);
  const TwoLinears net;
  const LinearPlace norm = {LinearSource::kNorm, "norm"}, context = {LinearSource::kContext, "attn.o_proj"};
  LinearRotation rotation(
      {.seed = 4, .ffn = true, .learned = LearnedRotationOptions{.steps = 1, .learning_rate = 0.05}});
  rotation.SeeGain("norm", net.gain);
  rotation.SeeHeads("attn", 6);
  const at::Tensor q = RotationMatrix(4, "residual", 8), r2 = RotationMatrix(4, "heads/attn", 6);
  ASSERT_EQ(rotation.Learn([&](std::int64_t) -> absl::StatusOr<at::Tensor> {
    const at::Tensor inner =
        at::matmul(Bent(rotation.Input(norm, net.x)), Bent(rotation.Weight(norm, net.reader)).t());
    const at::Tensor written = rotation.UsedWeight(context, Bent(rotation.Weight(context, net.writer)));
    const at::Tensor loss = at::matmul(Bent(rotation.Input(context, inner)), written.t()).sin().mean();
    EXPECT_NEAR(loss.item<double>(), net.Loss(q, r2).item<double>(), 1e-13);
    return loss;
  }),
            absl::OkStatus());
  const auto updated = [](const at::Tensor& matrix, const at::Tensor& gradient) {
    return Orthonormalised(CayleySgdUpdate(matrix, gradient, 0.05).t()).t();
  };
  const at::Tensor of_q =
      GradientByDifferences([&](const at::Tensor& m) { return net.Loss(m, r2).item<double>(); }, q);
  const at::Tensor of_r2 =
      GradientByDifferences([&](const at::Tensor& m) { return net.Loss(q, m).item<double>(); }, r2);
  EXPECT_GT(Largest(of_q), 1e-2);
  EXPECT_GT(Largest(of_r2), 1e-2);
  const at::Tensor learned_q = rotation.Input(norm, at::diag(net.gain));
  EXPECT_LT(Largest(learned_q - updated(q, of_q)), 1e-9);
  EXPECT_GT(Largest(learned_q - q), 1e-4);
  const at::Tensor learned_r2 = rotation.LearnedRotationOf("attn", at::zeros({1, 6}, at::kDouble));
  EXPECT_LT(Largest(learned_r2 - updated(r2, of_r2)), 1e-9);
  EXPECT_GT(Largest(learned_r2 - r2), 1e-4);
}

// The loss is the same for all orthogonal matrices then.
TEST(LearnedRotationsTest, WithoutRoundingNothingIsLearned) {
  for (const std::string& text :
       {std::string(kLlamaSizes) + kRmsNorm, std::string(kOptSizes), std::string(kGpt2Sizes)}) {
    const v1::TrialSpec spec = TrialOf(text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    LinearQuantizationOptions options;
    options.head = true;
    options.rotation = {
        .seed = 3, .ffn = true, .learned = LearnedRotationOptions{.steps = 20, .learning_rate = 1.5}};
    LinearQuantization rotation(options, spec.model().architecture_case());
    ASSERT_EQ(rotation.Learn([&](std::int64_t k) { return LossOfTokens(*model, k, &rotation); }),
              absl::OkStatus());
    ASSERT_EQ(rotation.Freeze(), absl::OkStatus());
    const NoGradGuard no_grad;
    const ModelInput input = RandomTokens(7);
    EXPECT_LT(Largest(model->Logits(input, &rotation) - model->Logits(input)), 1e-9) << text;
    const std::string site = spec.model().has_gpt2()  ? "transformer.h.1.attn"
                             : spec.model().has_opt() ? "model.decoder.layers.1.self_attn"
                                                      : "model.layers.1.self_attn";
    const std::int64_t width = spec.model().has_gpt2() ? 6 : 8;
    const at::Tensor r2 = rotation.LearnedRotationOf(site, at::zeros({1, width}, at::kDouble));
    EXPECT_LT(Largest(r2 - RotationMatrix(3, "heads/" + site, width)), 1e-8) << text;
    for (const auto& parameter : model->named_parameters())
      EXPECT_FALSE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST(LearnedRotationsTest, FineBitsChangeNothing) {
  const std::string bits = "weights { bits: 16 } activations { bits: 16 } ";
  for (const std::string& text : {std::string(kLlamaSizes) + kRmsNorm, std::string(kOptSizes)}) {
    const v1::TrialSpec spec = TrialOf(text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    const ModelInput calibrated = RandomTokens(101);
    for (const std::string method :
         {"absmax {} rotation { learned { steps: 8 } }",
          "absmax { granularity: COARSE calibrated: true head: true } rotation { learned { steps: 8 } }",
          "zeropoint {} gptq {} rotation { learned { steps: 8 } }",
          "absmax {} kv_cache { bits: 16 } rotation { kv_cache: true ffn: false learned { steps: 8 } }",
          "absmax {} kv_cache { bits: 16 kivi { group_size: 2 residual: 4 } } "
          "rotation { kv_cache: true learned { steps: 8 } }"}) {
      const auto tap = CalibratedOn(*model, spec, bits + method);
      const NoGradGuard no_grad;
      const at::Tensor error = model->Logits(calibrated, tap.get()) - model->Logits(calibrated);
      EXPECT_LT(Largest(error), 1e-2) << text << method;
      EXPECT_GT(Largest(error), 1e-9) << text << method;
    }
  }
}

// Two channels of the stream are large, by the embedding; the labels are what the model itself finds likely.
class OutlierModel {
 public:
  explicit OutlierModel(const std::string& text) : spec(TrialOf(text)), model(MakeTinyModel(spec)) {
    const NoGradGuard no_grad;
    for (const auto& parameter : model->named_parameters()) {
      if (parameter.key().find("embed_tokens") == std::string::npos) continue;
      parameter.value().select(1, 3).mul_(20);
      parameter.value().select(1, 17).mul_(20);
    }
  }

  at::Tensor Loss(std::int64_t batch, ActivationTap* tap) const {
    const ModelInput input = RandomTokens(static_cast<std::uint64_t>(200 + batch % 3));
    at::Tensor labels = input.ids.clone();
    {
      const NoGradGuard no_grad;
      labels.slice(1, 1).copy_(model->Logits(input).slice(1, 0, -1).argmax(-1));
    }
    return model->Loss(input, labels, tap);
  }

  std::unique_ptr<Quantization> Quantized(const std::string& text) const {
    auto made = MakeQuantization(QuantizationOf(text), spec.model().architecture_case()).value();
    EXPECT_EQ(made->Learn([&](std::int64_t update) { return Loss(update, made.get()); }), absl::OkStatus());
    const NoGradGuard no_grad;
    for (std::int64_t i = 0; i < 3; ++i) Loss(i, made.get());
    EXPECT_EQ(made->Freeze(), absl::OkStatus());
    return made;
  }

  double MeanLoss(ActivationTap* tap) const {
    const NoGradGuard no_grad;
    double sum = 0;
    for (std::int64_t i = 0; i < 3; ++i) sum += Loss(i, tap).item<double>();
    return sum / 3;
  }

  const v1::TrialSpec spec;
  const std::shared_ptr<Model> model;
};

// Of a model with outliers, over two seeds: one alone may lose by chance.
TEST(LearnedRotationsTest, TheLossOfTheRoundedModelFalls) {
  const OutlierModel outliers{std::string(kOptSizes)};
  for (const std::string cache : {"", "kv_cache { bits: 3 } "}) {
    const std::string bits = "weights { bits: 4 } activations { bits: 4 } absmax {} " + cache;
    const std::string kv = cache.empty() ? "" : "kv_cache: true ";
    const auto loss = [&](const std::string& learned) {
      double sum = 0;
      for (const char* const seed : {"1", "2"})
        sum += outliers.MeanLoss(
            outliers.Quantized(bits + "rotation { seed: " + seed + " " + kv + learned + "}").get());
      return sum;
    };
    EXPECT_LT(loss("learned { steps: 60 learning_rate: 0.3 } "), loss("")) << cache;
  }
}

TEST(LearnedRotationsTest, ASeedGivesTheSameBits) {
  const std::string text =
      "weights { bits: 4 } activations { bits: 4 } absmax {} rotation { learned { steps: 5 } ";
  const OutlierModel outliers(std::string(kLlamaSizes) + kRmsNorm);
  const auto logits = [&](const std::string& quantization) {
    const auto tap = outliers.Quantized(quantization);
    const NoGradGuard no_grad;
    return outliers.model->Logits(RandomTokens(7), tap.get());
  };
  const at::Tensor first = logits(text + "seed: 3 }");
  EXPECT_TRUE(torch::equal(first, logits(text + "seed: 3 }")));
  EXPECT_FALSE(torch::equal(first, logits(text + "seed: 4 }")));
}

TEST(LearnedRotationsTest, ValuesAreRoundedInTheBasisOfTheirContext) {
  const v1::TrialSpec spec = TrialOf(std::string(kLlamaSizes) + kRmsNorm);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const auto tap = CalibratedOn(
      *model, spec,
      "weights { bits: 4 } kv_cache { bits: 3 } absmax {} rotation { kv_cache: true learned { steps: 5 } }");
  const NoGradGuard no_grad;
  const at::Tensor values = at::randn({1, 5, 2, 8}, at::kDouble);
  const std::string site = "model.layers.0.self_attn";
  const at::Tensor r2 = tap->LearnedRotationOf(site, values);
  ASSERT_TRUE(r2.defined());
  EXPECT_GT(Largest(r2 - RotationMatrix(1, "heads/" + site, 8)), 1e-3);
  const auto rounded_by = [&](const at::Tensor& r) {
    const at::Tensor turned = at::matmul(values, r);
    return at::matmul(RoundToGrid(turned, ZeropointGrid(turned, 3, {-1})), r.t());
  };
  EXPECT_LT(Largest(tap->OnValues(site, values) - rounded_by(r2)), 1e-12);
  EXPECT_LT(Largest(tap->OnKeys(site, values) - rounded_by(RotationMatrix(1, "kv_cache", 8))), 1e-12);
}

TEST(LearnedRotationsTest, ErrorsEndTheLearningByName) {
  LearnedRotations rotations(1, {.steps = 3, .learning_rate = 1});
  const at::Tensor like = at::zeros({1}, at::kDouble);
  int updates = 0;
  const absl::Status status = rotations.Learn([&](std::int64_t) -> absl::StatusOr<at::Tensor> {
    ++updates;
    return rotations.Matrix("residual", 4, like).sum().div(0);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("quantization.rotation.learned: the loss"));
  EXPECT_EQ(updates, 1);
  LearnedRotations stopped(1, {.steps = 3, .learning_rate = 1});
  EXPECT_EQ(stopped.Learn([](std::int64_t) { return absl::CancelledError("stop"); }).code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace inlier
