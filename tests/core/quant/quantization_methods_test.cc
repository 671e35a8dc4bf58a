// Smoothing, AWQ, GPTQ and formats through a whole model, alone and together.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/quant/linear/linear_quantization.h"
#include "core/quant/quantization_error.h"
#include "core/quant/smoothing.h"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

constexpr char kQuery[] = "model.layers.0.self_attn.q_proj";

v1::TrialSpec LlamaTrial() { return TrialOf(std::string(kLlamaSizes) + kRmsNorm); }

// Two features of every norm's output thirty times as large, and the weights that read them as much smaller.
std::shared_ptr<Model> ModelWithOutlierFeatures(const v1::TrialSpec& spec) {
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const auto& parameter : model->named_parameters()) {
    const std::string& name = parameter.key();
    const bool reads_norm =
        name.find("q_proj") != std::string::npos || name.find("k_proj") != std::string::npos ||
        name.find("v_proj") != std::string::npos || name.find("gate_proj") != std::string::npos ||
        name.find("up_proj") != std::string::npos;
    for (const std::int64_t feature : {2, 19}) {
      if (name.find("layers") != std::string::npos && name.find("layernorm") != std::string::npos)
        parameter.value().detach()[feature] *= 30;
      if (reads_norm) parameter.value().detach().select(1, feature).div_(30);
    }
  }
  return model;
}

// The summed squared error of the outputs of all linears on the calibration batches, each alone.
double OutputError(Model& model, Quantization& quantization) {
  struct Tap : ActivationTap {
    explicit Tap(Quantization& of) : quantization(of) {}
    at::Tensor OnLinearInput(const std::string& site, const at::Tensor& x) override {
      input = x;
      used_input = quantization.OnLinearInput(site, x);
      return x;
    }
    at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override {
      const at::Tensor used = quantization.OnLinearWeight(site, weight);
      error += (at::linear(used_input, used) - at::linear(input, weight)).square().sum().item<double>();
      return weight;
    }
    Quantization& quantization;
    at::Tensor input, used_input;
    double error = 0;
  } tap(quantization);
  const torch::NoGradGuard no_grad;
  for (std::uint64_t batch = 0; batch < 3; ++batch) model.Logits(RandomTokens(100 + batch), &tap);
  return tap.error;
}

TEST(QuantizationMethodsTest, SmoothingHelpsWhereAFeatureIsLarge) {
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = ModelWithOutlierFeatures(spec);
  for (const std::string scheme : {"absmax {}", "absmax { granularity: MODERATE }",
                                   "absmax { granularity: MODERATE calibrated: true }", "zeropoint {}"}) {
    const std::string bits = "weights { bits: 6 } activations { bits: 6 } " + scheme;
    EXPECT_LT(LogitError(*model, spec, bits + " smoothing {}"), 0.8 * LogitError(*model, spec, bits))
        << scheme;
  }
}

TEST(QuantizationMethodsTest, LinearsThatReadTheSameTensorShareTheFactors) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = ModelWithOutlierFeatures(spec);
  const std::string text = "weights { bits: 16 } activations { bits: 16 } absmax {} smoothing { alpha: 0.7 }";
  const auto quantization = CalibratedOn(*model, spec, text);
  const auto parameters = model->named_parameters();
  // s of the first layer's attention: the largest of three calibration batches, and of three weights.
  struct Largest : ActivationTap {
    at::Tensor OnLinearInput(const std::string& site, const at::Tensor& x) override {
      if (site == kQuery) {
        const at::Tensor of_batch = x.abs().reshape({-1, x.size(-1)}).amax(0);
        value = value.defined() ? torch::maximum(value, of_batch) : of_batch;
      }
      return x;
    }
    at::Tensor value;
  } largest;
  for (std::uint64_t batch = 0; batch < 3; ++batch) model->Logits(RandomTokens(100 + batch), &largest);
  const std::string attention = "model.layers.0.self_attn.";
  const at::Tensor query = parameters[attention + "q_proj.weight"],
                   key = parameters[attention + "k_proj.weight"],
                   value = parameters[attention + "v_proj.weight"];
  const at::Tensor s = SmoothingFactors(largest.value, {query, key, value}, 0.7);
  const at::Tensor x = torch::randn({1, 2, 32}, torch::kDouble);
  for (const auto& [name, weight] : {std::pair("q_proj", query), {"k_proj", key}, {"v_proj", value}}) {
    EXPECT_TRUE(
        torch::allclose(quantization->OnLinearWeight(attention + name, weight), weight * s, 1e-3, 1e-4));
    EXPECT_TRUE(torch::allclose(quantization->OnLinearInput(attention + name, x), x / s, 1e-3, 1e-3));
  }
  const std::string output = attention + "o_proj";
  EXPECT_TRUE(torch::allclose(quantization->OnLinearInput(output, x), x, 1e-3, 1e-3)) << "it reads no norm";
}

TEST(QuantizationMethodsTest, AwqHelpsWhereAFeatureIsLarge) {
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = ModelWithOutlierFeatures(spec);
  for (const std::string weights :
       {"weights { bits: 3 } absmax {} ", "weights { bits: 4 group_size: 8 } absmax {} ",
        "weights { bits: 3 } zeropoint {} ", "weights { bits: 3 group_size: 12 } zeropoint {} ",
        "weights { format: MXFP4 } absmax {} "}) {
    const double plain = LogitError(*model, spec, weights),
                 scaled = LogitError(*model, spec, weights + "awq { clip: false }"),
                 both = LogitError(*model, spec, weights + "awq {}");
    EXPECT_LT(scaled, 0.9 * plain) << weights;
    EXPECT_LT(both, 0.9 * plain) << weights;
    EXPECT_NE(scaled, both) << weights;
  }
  const std::string rounded =
      "weights { bits: 4 } activations { bits: 6 } absmax { granularity: MODERATE calibrated: ";
  for (const std::string calibrated : {"true } ", "false } "}) {
    EXPECT_LT(LogitError(*model, spec, rounded + calibrated + "awq { clip: false }"),
              0.8 * LogitError(*model, spec, rounded + calibrated))
        << calibrated;
  }
  const std::string three = "weights { bits: 3 } zeropoint {} ";
  EXPECT_LT(OutputError(*model, *CalibratedOn(*model, spec, three + "awq {} gptq {}")),
            0.9 * OutputError(*model, *CalibratedOn(*model, spec, three + "awq {}")));
}

TEST(QuantizationMethodsTest, AwqAloneChangesNoOutput) {
  for (const std::string& text :
       {std::string(kLlamaSizes) + kRmsNorm, std::string(kOptSizes), std::string(kGpt2Sizes)}) {
    const v1::TrialSpec spec = TrialOf(text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    EXPECT_LT(LogitError(*model, spec, "weights { bits: 16 } absmax { head: true } awq {}"), 2e-3);
    EXPECT_GT(LogitError(*model, spec, "weights { bits: 4 } absmax { head: true } awq {}"), 0.05);
  }
}

TEST(QuantizationMethodsTest, AwqScalesEachTensorThatLinearsRead) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = ModelWithOutlierFeatures(spec);
  const auto parameters = model->named_parameters();
  const auto quantization =
      CalibratedOn(*model, spec, "weights { bits: 3 } zeropoint {} awq { grid: 10 clip: false }");
  const auto clipped = CalibratedOn(*model, spec, "weights { bits: 3 } zeropoint {} awq { grid: 10 }");
  const std::string layer = "model.layers.1.";
  for (const auto& names :
       std::vector<std::vector<std::string>>{{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                                             {"self_attn.o_proj"},
                                             {"mlp.gate_proj", "mlp.up_proj"},
                                             {"mlp.down_proj"}}) {
    const at::Tensor ones =
        torch::ones({1, 1, parameters[layer + names[0] + ".weight"].size(1)}, torch::kDouble);
    const at::Tensor s = 1 / quantization->OnLinearInput(layer + names[0], ones).flatten();
    EXPECT_NEAR((s.max() * s.min()).item<double>(), 1, 1e-9);
    EXPECT_GT(s.max().item<double>(), 1.1) << names[0];
    for (const std::string& name : names) {
      const std::string site = layer + name;
      const at::Tensor weight = parameters[site + ".weight"];
      EXPECT_TRUE(torch::allclose(quantization->OnLinearInput(site, ones * 3).flatten(), 3 / s, 1e-12, 0))
          << site;
      const at::Tensor used = quantization->OnLinearWeight(site, weight);
      EXPECT_TRUE(
          torch::allclose(used, RoundToGrid(weight * s, ZeropointGrid(weight * s, 3, {-1})), 1e-9, 1e-12))
          << site;
      EXPECT_EQ(torch::equal(used, clipped->OnLinearWeight(site, weight)),
                name.ends_with("q_proj") || name.ends_with("k_proj"))
          << site;
    }
  }
}

TEST(QuantizationMethodsTest, GptqKeepsTheOutputsOfEachLinearCloser) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const std::string weights :
       {"weights { bits: 3 } absmax {}", "weights { bits: 3 group_size: 8 } absmax {}",
        "weights { bits: 3 } zeropoint {}", "weights { bits: 3 group_size: 8 } zeropoint {}",
        "weights { format: MXFP4 } absmax {}", "weights { format: NVFP4 } absmax {}",
        "weights { format: FP8_E5M2 } absmax {}"}) {
    const auto nearest = CalibratedOn(*model, spec, weights);
    for (const char* gptq : {" gptq {}", " gptq { by_size: true damping: 0.1 }"}) {
      const auto corrected = CalibratedOn(*model, spec, weights + gptq);
      const double before = OutputError(*model, *nearest), after = OutputError(*model, *corrected);
      EXPECT_LT(after, 0.8 * before) << weights << gptq;
      EXPECT_GT(after, 0) << weights << gptq;
    }
  }
}

// The grids are those of rounding to the nearest: only the places on them differ.
TEST(QuantizationMethodsTest, GptqTakesTheGridsOfTheWeights) {
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const std::string weights :
       {"weights { bits: 3 group_size: 8 } absmax {}", "weights { bits: 3 } zeropoint {}"}) {
    const auto nearest = CalibratedOn(*model, spec, weights),
               gptq = CalibratedOn(*model, spec, weights + " gptq {}");
    const at::Tensor weight = model->named_parameters()[std::string(kQuery) + ".weight"].detach();
    const at::Tensor plain = nearest->OnLinearWeight(kQuery, weight),
                     used = gptq->OnLinearWeight(kQuery, weight);
    EXPECT_FALSE(torch::equal(plain, used));
    for (const QuantizerReport& report : gptq->Table()) {
      if (report.site != kQuery) continue;
      EXPECT_EQ(report.grid.scale, nearest->Table().at(0).grid.scale);
      LinearQuantizationOptions options = *LinearQuantizationOptionsFromSpec(QuantizationOf(weights));
      EXPECT_TRUE(torch::allclose(RoundToPart(used, GridOfPart(weight, *options.weights, options.grid)), used,
                                  0, 1e-12));
    }
  }
}

// The first layer reads what the float model gives; the second what the first gives with rounded weights, which is the float
// model's of a copy that has them.
TEST(QuantizationMethodsTest, LayerByLayerALayerReadsWhatTheRoundedOnesGive) {
  const torch::NoGradGuard no_grad;
  for (const std::string& sizes :
       {std::string(kLlamaSizes) + kRmsNorm, std::string(kGpt2Sizes), std::string(kOptSizes)}) {
    const v1::TrialSpec spec = TrialOf(sizes);
    for (const std::string more :
         {"absmax {} ", "zeropoint {} ", "absmax { head: true } ", "absmax {} rotation {} "}) {
      const std::string weights = "weights { bits: 3 } " + more;
      const std::shared_ptr<Model> model = MakeTinyModel(spec), copy = MakeTinyModel(spec);
      const auto at_once = CalibratedOn(*model, spec, weights + "gptq {}"),
                 by_layer = CalibratedOn(*model, spec, weights + "gptq { layer_by_layer: true }");
      const auto used = [](Quantization& of, const std::string& site) {
        return *dynamic_cast<LinearQuantization&>(of).QuantizedWeight(site);
      };
      int firsts = 0, others = 0;
      std::vector<std::string> later;
      for (const QuantizerReport& report : by_layer->Table()) {
        if (!report.is_weight()) continue;
        const bool first = report.site.find(".0.") != std::string::npos;
        const double apart =
            (used(*by_layer, report.site) - used(*at_once, report.site)).abs().max().item<double>();
        EXPECT_TRUE(!first || apart == 0) << report.site;
        others += !first && apart > 1e-3;
        firsts += first;
        if (!first) later.push_back(report.site);
      }
      EXPECT_GT(firsts, 3);
      EXPECT_GT(others, 2) << sizes << more;
      if (more != "absmax {} " || !spec.model().has_llama()) continue;
      for (const auto& parameter : copy->named_parameters()) {
        const std::string site = parameter.key().substr(0, parameter.key().rfind(".weight"));
        if (site.find("layers.0.") != std::string::npos && site.ends_with("_proj"))
          parameter.value().detach().copy_(used(*by_layer, site));
      }
      const auto of_copy = CalibratedOn(*copy, spec, weights + "gptq {}");
      for (const std::string& site : later)
        EXPECT_LT((used(*by_layer, site) - used(*of_copy, site)).abs().max().item<double>(), 1e-12) << site;
    }
  }
}

// OPT's projections: the one before the layers reads the float embedding, the one behind them what the rounded layers give.
TEST(QuantizationMethodsTest, LayerByLayerWhatIsBehindTheLayersComesLast) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(
      "model { opt { layers: 2 hidden_size: 32 heads: 4 ffn_size: 48 vocab_size: 50 max_positions: 16 "
      "initial_std: 0.2 "
      "embedding_size: 16 } } ");
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const std::string weights = "weights { bits: 3 } absmax {} ";
  const auto at_once = CalibratedOn(*model, spec, weights + "gptq {}"),
             by_layer = CalibratedOn(*model, spec, weights + "gptq { layer_by_layer: true }");
  const auto apart = [&](const std::string& site) {
    const auto used = [&](Quantization& of) {
      return *dynamic_cast<LinearQuantization&>(of).QuantizedWeight(site);
    };
    return (used(*at_once) - used(*by_layer)).abs().max().item<double>();
  };
  EXPECT_EQ(apart("model.decoder.project_in"), 0);
  EXPECT_GT(apart("model.decoder.project_out"), 1e-3);
}

// Its scales are those of the weights that the corrections have made, and each number is on its group's grid.
TEST(QuantizationMethodsTest, DynamicGroupsTakeTheGridsOfCorrectedWeights) {
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  for (const std::string weights :
       {"weights { bits: 3 group_size: 8 } absmax {} ", "weights { bits: 4 group_size: 16 } zeropoint {} "}) {
    const auto fixed = CalibratedOn(*model, spec, weights + "gptq {}"),
               dynamic = CalibratedOn(*model, spec, weights + "gptq { dynamic_groups: true }");
    const QuantizerReport before = fixed->Table().at(0), after = dynamic->Table().at(0);
    ASSERT_EQ(before.site, after.site);
    ASSERT_EQ(before.grid.scale.size(), after.grid.scale.size());
    const auto groups = static_cast<std::int64_t>(32 / after.group_size);
    int first_alike = 0, others_alike = 0;
    for (std::size_t i = 0; i < after.grid.scale.size(); ++i) {
      const bool alike = before.grid.scale[i] == after.grid.scale[i];
      (static_cast<std::int64_t>(i) % groups == 0 ? first_alike : others_alike) += alike;
    }
    EXPECT_EQ(first_alike, static_cast<int>(after.grid.scale.size()) / groups)
        << "nothing is corrected before";
    EXPECT_LT(others_alike, static_cast<int>(after.grid.scale.size()) / 8);
    const at::Tensor used =
        dynamic->OnLinearWeight(after.site, model->named_parameters()[after.site + ".weight"].detach());
    const at::Tensor scale =
        torch::tensor(after.grid.scale).view({-1, groups}).repeat_interleave(after.group_size, 1);
    const at::Tensor zero =
        torch::tensor(after.grid.zero_point).view({-1, groups}).repeat_interleave(after.group_size, 1);
    const at::Tensor integers = used / scale + zero;
    EXPECT_LT((integers - integers.round()).abs().max().item<double>(), 1e-4);
  }
}

TEST(QuantizationMethodsTest, AClipRatioShortensEachScale) {
  const at::Tensor x = torch::tensor({{10.0, 4.0, -7.5, 0.1}, {0.0, -2.0, 1.0, 0.5}}, torch::kDouble);
  LinearQuantizationOptions::Part part{.bits = 4, .scope = ScaleScope::kRow, .clip_ratio = 0.5};
  const at::Tensor scale = torch::tensor({{5.0 / 7}, {1.0 / 7}}, torch::kDouble);
  const at::Tensor expected = x.div(scale).round().clamp(-7, 7).mul(scale);
  const auto kind = LinearQuantizationOptions::Grid::kAbsmax;
  EXPECT_TRUE(torch::allclose(RoundToPart(x, GridOfPart(x, part, kind)), expected));
  part.format = v1::FP8_E4M3;
  part.bits = 8;
  const at::Tensor fp8 = RoundToPart(x, GridOfPart(x, part, kind));
  EXPECT_TRUE(torch::equal(fp8.select(1, 0), torch::tensor({5.0, 0.0}, torch::kDouble)));
  EXPECT_EQ(fp8[1][1].item<double>(), -1);
  part = {.bits = 8, .scope = ScaleScope::kTensor, .clip_ratio = 0.5};
  EXPECT_DOUBLE_EQ(GridOfLargest(x.abs().amax(), part).slices.scale.item<double>(), 5.0 / 127);
}

TEST(QuantizationMethodsTest, ARotationAndGptqWorkTogether) {
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = ModelWithOutlierFeatures(spec);
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.key().find("embed_tokens") != std::string::npos)
      parameter.value().detach().select(1, 3).mul_(30);
  }
  const std::string weights = "weights { bits: 3 } absmax {} ";
  const double plain = LogitError(*model, spec, weights),
               rotated = LogitError(*model, spec, weights + "rotation {}"),
               both = LogitError(*model, spec, weights + "rotation {} gptq {}");
  EXPECT_LT(both, 0.8 * rotated);
  EXPECT_LT(both, plain);
  const double smoothed =
                   LogitError(*model, spec, "weights { bits: 3 } activations {} absmax {} smoothing {}"),
               corrected = LogitError(*model, spec,
                                      "weights { bits: 3 } activations {} absmax {} smoothing {} gptq {}");
  EXPECT_LT(corrected, 0.9 * smoothed);
}

TEST(QuantizationMethodsTest, WhatIsCalibratedSeesTheFloatModel) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const ModelInput input = RandomTokens(7);
  TapChain none({});  // Another engine computes the model without a tap, and rounds otherwise.
  const at::Tensor exact = model->Logits(input, &none);
  for (const char* method : {"gptq {}", "smoothing {}", "rotation {} gptq {}"}) {
    auto made = *MakeQuantization(
        QuantizationOf(std::string("weights {} activations {} absmax {} kv_cache {} ") + method),
        v1::ModelSpec::kLlama);
    EXPECT_TRUE(made->needs_calibration());
    EXPECT_TRUE(torch::equal(model->Logits(input, made.get()), exact)) << method;
    EXPECT_TRUE(made->Freeze().ok());
    EXPECT_FALSE(torch::equal(model->Logits(input, made.get()), exact)) << method;
  }
}

TEST(QuantizationMethodsTest, PaddingTeachesNothing) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = LlamaTrial();
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  ModelInput text = RandomTokens(7);
  ModelInput padded = text;
  padded.ids = torch::cat({text.ids, torch::full({3, 2}, 9, torch::kLong)}, 1);
  padded.attention_mask = torch::cat({torch::ones({3, 12}), torch::zeros({3, 2})}, 1);
  for (const char* method : {"gptq {}", "smoothing {}", "awq {}"}) {
    const v1::QuantizationSpec of =
        QuantizationOf(std::string("weights { bits: 4 } activations { bits: 16 } absmax {} ") + method);
    auto one = *MakeQuantization(of, v1::ModelSpec::kLlama),
         other = *MakeQuantization(of, v1::ModelSpec::kLlama);
    model->Logits(text, one.get());
    model->Logits(padded, other.get());
    EXPECT_TRUE(one->Freeze().ok());
    EXPECT_TRUE(other->Freeze().ok());
    EXPECT_TRUE(torch::allclose(model->Logits(text, one.get()), model->Logits(text, other.get()))) << method;
  }
}

TEST(QuantizationMethodsTest, ADivergedModelIsRefusedByName) {
  const torch::NoGradGuard no_grad;
  for (const std::string method : {"gptq", "awq"}) {
    auto made =
        *MakeQuantization(QuantizationOf("weights {} absmax {} " + method + " {}"), v1::ModelSpec::kLlama);
    made->OnLinearInput(kQuery, torch::full({2, 4}, std::nan(""), torch::kDouble));
    made->OnLinearWeight(kQuery, torch::randn({3, 4}, torch::kDouble));
    const absl::Status status = made->Freeze();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.message()),
        ::testing::AllOf(::testing::HasSubstr("quantization." + method), ::testing::HasSubstr(kQuery)));
  }
}

TEST(QuantizationMethodsTest, FormatsHaveTheirScales) {
  const at::Tensor x = torch::randn({2, 5, 40}, torch::kDouble);
  const auto made = [](const std::string& text) {
    return LinearQuantization::Create(QuantizationOf(text), v1::ModelSpec::kLlama).value();
  };
  const auto blocks = made("weights { format: NVFP4 } activations { format: MXFP4 } absmax {}");
  blocks->OnLinearInput(kQuery, x);
  blocks->OnLinearWeight(kQuery, x[0]);
  const std::vector<QuantizerReport> table = blocks->Table();
  EXPECT_EQ(table[0].grid.scale.size(), 2u * 5 * 2);
  EXPECT_EQ(table[0].group_size, 32);
  EXPECT_EQ(table[0].bits, 4);
  EXPECT_EQ(table[1].grid.scale.size(), 5u * 3);
  EXPECT_EQ(table[1].group_size, 16);
  const auto fp8 = made(
      "weights { format: FP8_E4M3 } activations { format: FP8_E5M2 } absmax { granularity: MODERATE "
      "calibrated: true }");
  fp8->OnLinearInput(kQuery, x);
  fp8->OnLinearInput(kQuery, x * 2);
  EXPECT_TRUE(fp8->Freeze().ok());
  fp8->OnLinearInput(kQuery, x);
  EXPECT_EQ(fp8->Table()[0].grid.scale, std::vector<double>{x.abs().max().item<double>() * 2 / 57344});
  EXPECT_EQ(fp8->Table()[0].bits, 8);
}

TEST(QuantizationMethodsTest, WhatDoesNotGoTogetherIsNamed) {
  const auto message = [](const std::string& text) {
    return std::string(LinearQuantizationOptionsFromSpec(QuantizationOf(text)).status().message());
  };
  EXPECT_THAT(message("weights {} activations {} absmax {} rotation {} smoothing {}"),
              ::testing::HasSubstr("quantization.smoothing"));
  EXPECT_THAT(message("weights {} absmax { granularity: MODERATE } gptq {}"),
              ::testing::HasSubstr("quantization.gptq"));
  EXPECT_THAT(message("weights {} absmax {} awq {} rotation {}"), ::testing::HasSubstr("quantization.awq"));
  EXPECT_THAT(message("weights {} activations {} absmax {} awq {} smoothing {}"),
              ::testing::HasSubstr("quantization.awq"));
  EXPECT_THAT(message("activations {} zeropoint {} awq {}"), ::testing::HasSubstr("quantization.awq"));
  EXPECT_THAT(message("weights {} absmax { granularity: MODERATE } awq {}"),
              ::testing::HasSubstr("quantization.awq.clip"));
  EXPECT_EQ(message("weights {} absmax { granularity: MODERATE } awq { clip: false }"), "");
  EXPECT_THAT(message("weights { format: FP8_E4M3 } zeropoint {}"),
              ::testing::HasSubstr("quantization.weights.format"));
  EXPECT_THAT(message("activations { format: NVFP4 } absmax { activation_axis: FEATURE }"),
              ::testing::HasSubstr("quantization.activations.format"));
  EXPECT_THAT(message("weights { format: MXFP4 group_size: 32 } absmax {}"),
              ::testing::HasSubstr("quantization.weights.group_size"));
  EXPECT_THAT(message("weights { group_rows: 32 } absmax {}"),
              ::testing::HasSubstr("quantization.weights.group_rows"));
  EXPECT_THAT(message("weights { group_rows: 32 group_size: 32 } zeropoint {}"),
              ::testing::HasSubstr("quantization.weights.group_rows"));
  EXPECT_THAT(message("activations { group_size: 32 } absmax { granularity: MODERATE }"),
              ::testing::HasSubstr("quantization.activations.group_size"));
  EXPECT_THAT(message("activations { group_size: 32 } zeropoint {}"),
              ::testing::HasSubstr("quantization.activations.group_size"));
  EXPECT_EQ(message("weights { group_size: 8 group_rows: 8 format: FP8_E4M3 } activations { group_size: 8 "
                    "format: FP8_E4M3 } absmax {} gptq {}"),
            "");
}

}  // namespace
}  // namespace inlier
