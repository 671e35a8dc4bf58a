#include "core/train/intervention.h"

#include <gmock/gmock.h>

#include <string>

#include "core/train/evaluator.h"
#include "tests/core/models/test_models.h"
#include "tests/core/support/recording_tap.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

using testing::HasSubstr;

v1::InterventionSpec InterventionFrom(const std::string& text) {
  v1::InterventionSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// Logits under the intervention; `seen` gets the activations.
at::Tensor Changed(LanguageModel& model, const v1::TrialSpec& spec, const std::string& text,
                   RecordingTap* seen = nullptr) {
  const torch::NoGradGuard no_grad;
  Intervention intervention =
      Intervention::Create(InterventionFrom(text), spec.model().architecture_case()).value();
  RecordingTap nothing;
  TapChain taps({&intervention, seen == nullptr ? &nothing : seen});
  at::Tensor logits = model.Logits(SmallInput(), &taps);
  EXPECT_EQ(intervention.CheckHeads(), absl::OkStatus());
  return logits;
}

std::shared_ptr<LanguageModel> MovedModel(const v1::TrialSpec& spec) {
  auto model = SmallModel(spec);
  torch::manual_seed(2);
  const torch::NoGradGuard no_grad;
  for (at::Tensor& parameter : model->parameters()) parameter.add_(torch::randn_like(parameter) * 0.2);
  return model;
}

// The model with the columns of its last attention's output projection that read heads `from` to `to` set to 0.
void SilenceHeads(LanguageModel& model, const std::string& projection, std::int64_t from, std::int64_t to,
                  bool in_out) {
  const torch::NoGradGuard no_grad;
  auto weight = model.named_parameters()[projection + ".weight"];
  weight.slice(in_out ? 0 : 1, from * 4, to * 4).zero_();
}

TEST(InterventionTest, AHeadThatIsOffIsAHeadThatNothingReads) {
  const std::pair<const char*, const char*> projections[] = {
      {"bert", "bert.encoder.layer.1.attention.output.dense"},
      {"opt", "model.decoder.layers.1.self_attn.out_proj"},
      {"gpt2", "transformer.h.1.attn.c_proj"},
      {"llama", "model.layers.1.self_attn.o_proj"}};
  for (const auto& [architecture, projection] : projections) {
    const v1::TrialSpec spec = SmallSpec(architecture);
    const bool in_out = std::string(architecture) == "gpt2";
    const auto model = MovedModel(spec);
    const at::Tensor one = Changed(*model, spec, "heads_off: '1.2'");
    const at::Tensor all = Changed(*model, spec, "heads_off: '1.0 1.1 1.2  1.3'");
    SilenceHeads(*model, projection, 2, 3, in_out);
    EXPECT_TRUE(torch::allclose(one, model->Logits(SmallInput()), 1e-4, 1e-5)) << architecture;
    SilenceHeads(*model, projection, 0, 4, in_out);
    EXPECT_TRUE(torch::allclose(all, model->Logits(SmallInput()), 1e-4, 1e-5)) << architecture;
    EXPECT_FALSE(torch::allclose(one, all, 1e-3, 1e-3)) << architecture;
  }
}

TEST(InterventionTest, ScaledValuesAreThoseOfScaledWeights) {
  const v1::TrialSpec spec = SmallSpec("opt");
  const auto model = MovedModel(spec);
  const at::Tensor scaled = Changed(*model, spec, "value_scale: 0.5");
  const torch::NoGradGuard no_grad;
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.key().find("v_proj") != std::string::npos) parameter.value().mul_(0.5);
  }
  EXPECT_TRUE(torch::allclose(scaled, model->Logits(SmallInput()), 1e-4, 1e-5));
}

TEST(InterventionTest, TheFirstKeyIsHiddenFromLaterQueries) {
  const v1::TrialSpec spec = SmallSpec("gpt2");
  const auto model = MovedModel(spec);
  RecordingTap plain, removed, renormalized;
  Changed(*model, spec, "", &plain);
  Changed(*model, spec, "first_key: REMOVED", &removed);
  Changed(*model, spec, "first_key: RENORMALIZED", &renormalized);
  const std::string site = "transformer.h.0.attn.probs";
  const at::Tensor &p = plain.seen[site], &r = removed.seen[site], &n = renormalized.seen[site];
  EXPECT_TRUE(torch::equal(r.select(2, 0), p.select(2, 0))) << "the first query has no other key";
  EXPECT_EQ(r.slice(2, 1).select(-1, 0).abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::equal(r.slice(3, 1), p.slice(3, 1)));
  EXPECT_EQ(n.slice(2, 1).select(-1, 0).abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::allclose(n.sum(-1), torch::ones_like(n.sum(-1))));
  const at::Tensor expected = p.slice(2, 1).slice(3, 1) / (1 - p.slice(2, 1).slice(3, 0, 1));
  EXPECT_TRUE(torch::allclose(n.slice(2, 1).slice(3, 1), expected, 1e-4, 1e-6));
}

TEST(InterventionTest, MassiveActivationsAreLargeByBothLimits) {
  torch::manual_seed(5);
  at::Tensor x = torch::rand({2, 3, 64}) + 0.5;  // Medians near 1.
  x[0][0][7] = 3000;
  x[1][2][7] = -5000;
  x[0][1][9] = 150;  // Large, and not 1,000 times the median.
  x[1][0] *= 0.01;
  x[1][0][3] = 90;  // 1,000 times the median, and not large.
  for (const auto& [text, first, second] : {std::tuple("massive_activations: ZERO", 0.0, 0.0),
                                            std::tuple("massive_activations: MEAN", -1000.0, -1000.0)}) {
    Intervention intervention = Intervention::Create(InterventionFrom(text), v1::ModelSpec::kGpt2).value();
    at::Tensor expected = x.clone();
    expected[0][0][7] = first;
    expected[1][2][7] = second;
    EXPECT_TRUE(torch::equal(intervention.OnActivation("hidden.1", x), expected)) << text;
    for (const char* site : {"hidden.0", "transformer.h.0", "transformer.h.0.attn.context"})
      EXPECT_TRUE(torch::equal(intervention.OnActivation(site, x), x)) << site;
  }
}

TEST(InterventionTest, AnEvaluationIsOfTheChangedModelAlsoQuantized) {
  at::set_num_threads(1);
  const auto loss = [](const std::string& changes) {
    const v1::TrialSpec spec = TinySpec(changes);
    CollectingSink sink;
    return Evaluate(*TinyModel(spec), *TinyDataset(spec), spec, c10::Device(c10::kCPU), sink,
                    [] { return false; })
        .value()
        .scores.loss;
  };
  const std::string off = "evaluation { intervention { heads_off: '0.0 0.1 1.0 1.1' } } ";
  const std::string fine = "quantization { weights { bits: 16 } activations { bits: 16 } } ";
  const double plain = loss(""), changed = loss(off), quantized = loss(off + fine);
  EXPECT_NE(plain, changed);
  EXPECT_NEAR(changed, quantized, 1e-3 * changed);
  EXPECT_LT(std::abs(changed - quantized), 0.2 * std::abs(changed - plain));
}

TEST(InterventionTest, AHeadThatTheModelHasNotIsAnError) {
  v1::TrialSpec spec = TinySpec();
  spec.mutable_evaluation()->mutable_intervention()->set_heads_off("1.2");
  CollectingSink sink;
  const absl::Status status =
      Evaluate(*TinyModel(spec), *TinyDataset(spec), spec, c10::Device(c10::kCPU), sink, [] {
        return false;
      }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("evaluation.intervention.heads_off: the model has no head 1.2"));
}

}  // namespace
}  // namespace inlier
