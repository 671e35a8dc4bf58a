#include "core/quant/kv_cache_quantization.h"

#include <gmock/gmock.h>

#include <string>

#include "core/quant/linear/linear_rotation.h"
#include "core/quant/quantization_error.h"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

// Keys and values of a pass, before a quantization and after it.
class Recorded : public ActivationTap {
 public:
  explicit Recorded(ActivationTap* next) : next_(next) {}
  void OnPass(const at::Tensor& mask) override { next_->OnPass(mask); }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    return next_->OnWeight(site, weight);
  }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& x) override {
    return next_->OnLinearInput(site, x);
  }
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    before.push_back(keys);
    after.push_back(next_->OnKeys(site, keys));
    sites.push_back(site);
    return after.back();
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    before.push_back(values);
    after.push_back(next_->OnValues(site, values));
    sites.push_back(site);
    return after.back();
  }
  std::vector<at::Tensor> before, after;
  std::vector<std::string> sites;

 private:
  ActivationTap* next_;
};

TEST(KvCacheQuantizationTest, EachTokenAndHeadHasItsRange) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(std::string(kLlamaSizes) + kRmsNorm);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const auto quantization = CalibratedOn(*model, spec, "kv_cache { bits: 4 } absmax {}");
  Recorded recorded(quantization.get());
  model->Logits(RandomTokens(7), &recorded);
  EXPECT_EQ(recorded.sites,
            (std::vector<std::string>{"model.layers.0.self_attn", "model.layers.0.self_attn",
                                      "model.layers.1.self_attn", "model.layers.1.self_attn"}));
  for (std::size_t i = 0; i < 4; ++i) {
    const at::Tensor &x = recorded.before[i], &y = recorded.after[i];
    ASSERT_EQ(x.sizes(), (std::vector<std::int64_t>{3, 12, 2, 8}))
        << "two heads of keys, before they are repeated";
    for (std::int64_t token = 0; token < 12; ++token) {
      for (std::int64_t head = 0; head < 2; ++head) {
        const at::Tensor from = x[1][token][head], to = y[1][token][head];
        const double low = from.min().item<double>(), step = (from.max().item<double>() - low) / 15;
        EXPECT_LE((from - to).abs().max().item<double>(), step) << "half a step, and half of the zero point";
        EXPECT_GT((from - to).abs().max().item<double>(), 0);
        EXPECT_TRUE(torch::equal(to, RoundToGrid(from, ZeropointGrid(from, 4, {-1}))));
      }
    }
  }
}

TEST(KvCacheQuantizationTest, RotatedHeadsAreRoundedInTheirBasis) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(std::string(kLlamaSizes) + kRmsNorm);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const std::string cache = "absmax {} rotation { seed: 3 kv_cache: true } kv_cache ";
  const auto quantization = CalibratedOn(*model, spec, cache + "{ bits: 4 }");
  Recorded recorded(quantization.get());
  model->Logits(RandomTokens(7), &recorded);
  ASSERT_EQ(recorded.before.size(), 4u);
  const at::Tensor r = RotationMatrix(3, "kv_cache", 8);
  for (std::size_t i = 0; i < 4; ++i) {
    const at::Tensor x = recorded.before[i].matmul(r);
    const at::Tensor expected = RoundToGrid(x, ZeropointGrid(x, 4, {-1})).matmul(r.t());
    EXPECT_TRUE(torch::allclose(recorded.after[i], expected, 1e-12, 1e-12));
    EXPECT_FALSE(torch::allclose(recorded.after[i], recorded.before[i]));
  }
  EXPECT_LT(LogitError(*model, spec, cache + "{ bits: 16 }"), 1e-3);
  EXPECT_LT(LogitError(*model, spec, cache + "{ bits: 16 kivi { group_size: 4 residual: 4 } }"), 1e-3);
}

TEST(KvCacheQuantizationTest, OtherTensorsAreTheScheme) {
  const v1::TrialSpec spec = TrialOf(std::string(kLlamaSizes) + kRmsNorm);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const double kv = LogitError(*model, spec, "kv_cache { bits: 4 } absmax {}"),
               linears = LogitError(*model, spec, "weights { bits: 4 } activations { bits: 4 } absmax {}"),
               both =
                   LogitError(*model, spec,
                              "weights { bits: 4 } activations { bits: 4 } kv_cache { bits: 4 } absmax {}");
  EXPECT_GT(kv, 0);
  EXPECT_GT(both, linears);
  EXPECT_LT(LogitError(*model, spec, "kv_cache { bits: 16 } absmax {}"), 1e-2 * kv);
}

TEST(KvCacheQuantizationTest, EverySchemeHasIt) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(kOptSizes);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const std::string scheme :
       {"weights {} activations {} reference {}", "weights {} zeropoint {}",
        "weights {} activations {} absmax { granularity: COARSE calibrated: true }"}) {
    const auto without = CalibratedOn(*model, spec, scheme),
               with = CalibratedOn(*model, spec, scheme + " kv_cache { bits: 3 }");
    EXPECT_EQ(with->needs_calibration(), without->needs_calibration());
    const ModelInput input = RandomTokens(7);
    QuantizationErrorRecorder recorder(*with);
    EXPECT_FALSE(torch::equal(model->Logits(input, without.get()), model->Logits(input, &recorder)))
        << scheme;
    std::vector<std::string> names;
    for (const QuantizerError& error : recorder.Report()) {
      names.push_back(error.tensor);
      if (error.tensor.ends_with(".keys")) {
        EXPECT_LT(error.sqnr_db.value(), 30);
      }
    }
    EXPECT_THAT(names, ::testing::IsSupersetOf({"model.decoder.layers.0.self_attn.keys",
                                                "model.decoder.layers.1.self_attn.values"}));
    const std::vector<QuantizerReport> table = with->Table();
    ASSERT_EQ(table.size(), without->Table().size() + 4) << scheme;
    EXPECT_EQ(table.back().part, QuantizedPart::kValues);
    EXPECT_EQ(table.back().site, "model.decoder.layers.1.self_attn");
    EXPECT_EQ(table.back().bits, 3);
    EXPECT_EQ(table.back().grid.integer_max, 7);
  }
}

TEST(KvCacheQuantizationTest, NothingIsRoundedBeforeTheEndOfCalibration) {
  auto quantization = *MakeQuantization(QuantizationOf("kv_cache {} absmax {}"), v1::ModelSpec::kLlama);
  const at::Tensor keys = torch::randn({1, 2, 2, 8});
  EXPECT_TRUE(quantization->OnKeys("s", keys).is_same(keys));
  EXPECT_TRUE(quantization->Table().empty());
  EXPECT_TRUE(quantization->Freeze().ok());
  EXPECT_FALSE(quantization->OnKeys("s", keys).equal(keys));
}

// What a query sees does not depend on the tokens behind it, as where a cache is filled one token after the other.
TEST(KvCacheQuantizationTest, KivisWindowFollowsTheQuery) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(std::string(kLlamaSizes) + kRmsNorm);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  // Of two numbers a group both would be exact.
  const std::string kivi = "kv_cache { bits: 2 kivi { group_size: 4 residual: 4 } } absmax {}";
  const auto logits = [&](const ModelInput& input) {
    return model->Logits(input, CalibratedOn(*model, spec, kivi).get());
  };
  const ModelInput whole = RandomTokens(7);
  const at::Tensor rounded = logits(whole), exact = model->Logits(whole);
  for (std::int64_t tokens = 1; tokens <= 12; ++tokens) {
    ModelInput begin;
    begin.ids = whole.ids.slice(1, 0, tokens);
    EXPECT_LT((logits(begin) - rounded.slice(1, 0, tokens)).abs().max().item<double>(), 1e-12) << tokens;
  }
  EXPECT_LT((rounded - exact).slice(1, 0, 4).abs().max().item<double>(), 1e-12) << "nothing is rounded yet";
  EXPECT_GT((rounded - exact).slice(1, 4).abs().amax({0, 2}).min().item<double>(), 1e-4);
  EXPECT_LT(LogitError(*model, spec, "kv_cache { bits: 16 kivi { group_size: 4 residual: 4 } } absmax {}"),
            1e-2 * LogitError(*model, spec, kivi));
}

TEST(KvCacheQuantizationTest, BitsOutOfRangeAreNamed) {
  const absl::Status status =
      MakeQuantization(QuantizationOf("kv_cache { bits: 1 } absmax {}"), v1::ModelSpec::kLlama).status();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("quantization.kv_cache.bits: 1"));
}

}  // namespace
}  // namespace inlier
