// DyT, gates of norms, Peri-LN and EmbProj in whole models: identities, initial weights, what is fused. Numbers: the golden
// cases; gradients: gradient_check_test.cc.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <string>
#include <string_view>

#include "core/models/parameter_names.h"
#include "core/optim/parameter_groups.h"
#include "core/optim/weight_axes.h"
#include "spec/trial/architecture.h"
#include "spec/trial/unfused_part.h"
#include "tests/core/models/test_models.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

constexpr char kWide[] = "initial_std: 0.3 ";

std::shared_ptr<LanguageModel> InDouble(const v1::TrialSpec& spec) {
  const auto model = SmallModel(spec);
  model->to(at::kDouble);
  return model;
}

double Apart(LanguageModel& a, LanguageModel& b) {
  const at::NoGradGuard no_grad;
  return (a.Logits(SmallInput()) - b.Logits(SmallInput())).abs().max().item<double>();
}

TEST(NormPartsTest, AGateStartsHalfOpenAndScalesEachFeature) {
  for (const std::string architecture : kArchitectures) {
    const v1::TrialSpec spec = SmallSpec(architecture, "", kWide, "norm: RMS_NORM_M norm_gate: 3");
    const auto gated = InDouble(spec);
    const auto plain = InDouble(SmallSpec(architecture, "", kWide, "norm: RMS_NORM_M"));
    EXPECT_GT(Apart(*gated, *plain), 1e-3) << architecture;
    const at::NoGradGuard no_grad;
    // W_up = 0 leaves every gate half open; twice the gain takes that out.
    for (const auto& item : gated->named_parameters()) {
      if (item.key().ends_with("gate_up.weight")) item.value().zero_();
      if (!IsNormParameter(item.key()) || !item.key().ends_with(".weight")) continue;
      if (item.key().find("transform.LayerNorm") == std::string::npos) item.value().mul_(2);
    }
    EXPECT_LT(Apart(*gated, *plain), 1e-12) << architecture;
  }
}

TEST(NormPartsTest, DytStartsWithItsAlphaAndHasNoStatistics) {
  for (const std::string architecture : kArchitectures) {
    v1::TrialSpec spec = SmallSpec(architecture, "", kWide, "norm: DYT dyt_alpha: 0.75");
    const auto model = SmallModel(spec);
    int alphas = 0;
    for (const auto& item : model->named_parameters()) {
      if (!item.key().ends_with(".alpha")) continue;
      ++alphas;
      EXPECT_EQ(item.value().item<float>(), 0.75f) << item.key();
      EXPECT_FALSE(IsDecayed(item.key(), /*decay_norm_gamma=*/true)) << item.key();
    }
    EXPECT_GE(alphas, 5) << architecture;
    VisitArchitecture(spec.mutable_model(),
                      [](std::string_view, auto* sizes) { sizes->set_norm_epsilon(0.5); });
    EXPECT_EQ(Apart(*model, *SmallModel(spec)), 0) << architecture << ": there is no epsilon";
  }
}

TEST(NormPartsTest, PeriNormsWhatALayerAdds) {
  for (const std::string architecture : kArchitectures) {
    const auto model = InDouble(SmallSpec(architecture, "", std::string(kWide) + "norm_placement: PERI"));
    const at::NoGradGuard no_grad;
    const double size = 0.25;
    for (const auto& item : model->named_parameters()) {
      if (item.key().find("_output_layernorm.weight") != std::string::npos) item.value().fill_(size);
    }
    RecordingTap tap;
    model->Logits(SmallInput(), &tap);
    const at::Tensor steps = tap.seen["hidden.1"] - tap.seen["hidden.0"];
    EXPECT_LE(steps.norm(2, -1).max().item<double>(), 2 * size * std::sqrt(16.0) + 1e-9) << architecture;
    EXPECT_GT(steps.norm(2, -1).max().item<double>(), 0) << architecture;
  }
}

TEST(NormPartsTest, EmbeddingProjectionsAreOrthogonalAndATapSeesThemAbsorbed) {
  for (const std::string architecture : {"gpt2", "llama"}) {
    const std::string fields = std::string(kWide) + "tied_head: false";
    const auto model = InDouble(SmallSpec(architecture, "", fields, "embedding_projection: true"));
    const auto plain = InDouble(SmallSpec(architecture, "", fields));
    const at::NoGradGuard no_grad;
    auto parameters = model->named_parameters();
    const at::Tensor p = parameters["embedding_projection.weight"], r = parameters["head_projection.weight"];
    for (const at::Tensor& q : {p, r})
      EXPECT_LT((q.matmul(q.t()) - torch::eye(16, at::kDouble)).abs().max().item<double>(), 1e-6);
    EXPECT_GT((p - r).abs().max().item<double>(), 0.1);
    EXPECT_GT(Apart(*model, *plain), 1e-2);
    const std::string table = architecture == "gpt2" ? "transformer.wte.weight" : "model.embed_tokens.weight";
    auto absorbed = plain->named_parameters();
    absorbed[table].copy_(parameters[table].matmul(p.t()));
    absorbed["lm_head.weight"].copy_(parameters["lm_head.weight"].matmul(r));
    EXPECT_LT(Apart(*model, *plain), 1e-12) << architecture;
    RecordingTap tap;
    const at::Tensor tapped = model->Logits(SmallInput(), &tap);
    EXPECT_LT((tapped - plain->Logits(SmallInput())).abs().max().item<double>(), 1e-12) << architecture;
    EXPECT_TRUE(AxesOf("embedding_projection.weight").hidden) << "Muon's";
    EXPECT_TRUE(model->can_fuse(layer::Place::kCpuFloat32));
  }
}

TEST(NormPartsTest, TheFusedEngineLacksThemByName) {
  const auto part = [](const std::string& model_fields, const std::string& trial_fields) {
    const v1::TrialSpec spec = SmallSpec("gpt2", "", model_fields, trial_fields);
    EXPECT_EQ(SmallModel(spec)->can_fuse(layer::Place::kCpuFloat32), UnfusedPart(spec).empty());
    return std::string(UnfusedPart(spec));
  };
  EXPECT_EQ(part("", "norm: DYT"), "norm");
  EXPECT_EQ(part("", "norm_gate: 2"), "norm_gate");
  EXPECT_EQ(part("norm_placement: PERI", ""), "norm_placement: PERI");
  EXPECT_EQ(part("norm_placement: ENDS", ""), "norm_placement: ENDS");
  EXPECT_EQ(part("", "residual_gain: 0.5"), "residual_gain");
  EXPECT_EQ(part("tied_head: false", "embedding_projection: true"), "");
}

}  // namespace
}  // namespace inlier
