#include "core/trial/export/compressed_export.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

// q s of the tensors of `name`, as compressed-tensors reads them: (out, in) float32.
at::Tensor Read(const TensorMap& tensors, const std::string& name, int bits, std::int64_t group) {
  const at::Tensor scale = tensors.at(name + "_scale");
  at::Tensor integers;
  if (tensors.count(name) > 0) {
    integers = tensors.at(name).to(at::kFloat);
    EXPECT_EQ(tensors.at(name).scalar_type(), at::kChar);
  } else {
    const at::Tensor packed = tensors.at(name + "_packed"), shape = tensors.at(name + "_shape");
    EXPECT_EQ(packed.scalar_type(), at::kInt);
    std::vector<at::Tensor> parts;
    for (int i = 0; i < 32 / bits; ++i) {
      const at::Tensor bytes = packed.to(at::kLong).bitwise_and(0xffffffff);
      parts.push_back(at::floor_divide(bytes, std::int64_t{1} << (i * bits)).bitwise_and((1 << bits) - 1));
    }
    integers = at::stack(parts, -1).flatten(1).slice(1, 0, shape[1].item<std::int64_t>()).to(at::kFloat) -
               (1 << (bits - 1));
    EXPECT_EQ(integers.size(0), shape[0].item<std::int64_t>());
  }
  EXPECT_LE(integers.abs().max().item<float>(), (1 << (bits - 1)) - 1);
  EXPECT_GT(integers.abs().max().item<float>(), 0);
  if (group == 0) return integers * scale;
  return integers * scale.repeat_interleave(group, 1).slice(1, 0, integers.size(1));
}

TEST(CompressedExportTest, TheIntegersAreTheWeightsOfTheEvaluation) {
  const torch::NoGradGuard no_grad;
  const struct {
    const char* quantization;
    int bits;
    std::int64_t group;
  } cases[] = {{"weights { bits: 8 } absmax {}", 8, 0},
               {"weights { bits: 4 } absmax {}", 4, 0},
               {"weights { bits: 4 group_size: 16 } absmax {}", 4, 16},
               {"weights { bits: 4 } absmax {} gptq {}", 4, 0},
               {"weights { bits: 8 } activations { bits: 8 } absmax {}", 8, 0},
               {"weights { bits: 3 group_size: 16 } activations { bits: 8 } absmax {}", 3, 16}};
  for (const std::string& model_text : {std::string(kOptSizes), std::string(kLlamaSizes) + kRmsNorm}) {
    const v1::TrialSpec spec = TrialOf(model_text);
    const std::shared_ptr<Model> model = MakeTinyModel(spec);
    model->to(torch::kFloat);
    for (const auto& [text, bits, group] : cases) {
      const auto quantization = CalibratedOn(*model, spec, text);
      model->Logits(RandomTokens(1), quantization.get());
      TensorMap tensors;
      for (const auto& parameter : model->named_parameters())
        tensors[parameter.key()] = parameter.value().detach();
      const TensorMap before = tensors;
      CompressWeights(QuantizationOf(text), *quantization, &tensors);
      int linears = 0;
      for (const QuantizerReport& report : quantization->Table()) {
        if (!report.is_weight()) continue;
        ++linears;
        const std::string name =
            (report.site.ends_with("_act") ? report.site.substr(0, report.site.size() - 4) : report.site) +
            ".weight";
        const at::Tensor used = quantization->OnLinearWeight(report.site, before.at(name));
        EXPECT_TRUE(torch::equal(Read(tensors, name, bits, group), used)) << name << " " << text;
        EXPECT_FALSE(torch::equal(used, before.at(name))) << name;
      }
      EXPECT_EQ(linears, spec.model().has_opt() ? 12 : 14);
      EXPECT_EQ(tensors.count("lm_head.weight"), before.count("lm_head.weight"));
    }
  }
}

TEST(CompressedExportTest, TheConfigurationNamesTheScheme) {
  const auto config = [](const char* text) {
    return nlohmann::json::parse(CompressedTensorsConfig(QuantizationOf(text)));
  };
  const nlohmann::json packed = config("weights { bits: 4 group_size: 32 } absmax {}");
  EXPECT_EQ(packed["format"], "pack-quantized");
  EXPECT_EQ(packed["config_groups"]["group_0"]["weights"]["group_size"], 32);
  EXPECT_FALSE(packed["config_groups"]["group_0"].contains("input_activations"));
  const nlohmann::json integers = config("weights { bits: 8 } activations { bits: 6 } absmax {}");
  EXPECT_EQ(integers["format"], "int-quantized");
  EXPECT_EQ(integers["config_groups"]["group_0"]["weights"]["strategy"], "channel");
  EXPECT_EQ(integers["config_groups"]["group_0"]["input_activations"]["num_bits"], 6);
  EXPECT_EQ(integers["config_groups"]["group_0"]["input_activations"]["dynamic"], true);
}

TEST(CompressedExportTest, WhatHasNoFormIsNamed) {
  const auto error = [](const std::string& text) {
    return std::string(CheckCompressedTensors(TrialOf(text)).message());
  };
  const std::string llama = std::string(kLlamaSizes) + kRmsNorm + "quantization { ";
  EXPECT_EQ(error(llama + "weights { bits: 4 } absmax {} }"), "");
  for (const auto& [text, path] : std::map<std::string, std::string>{
           {kLlamaSizes, "quantization: is not given"},
           {std::string(kGpt2Sizes) + "quantization { weights {} absmax {} }",
            "model.gpt2: only the linears"},
           {llama + "activations {} absmax {} }", "quantization.weights: are float"},
           {llama + "weights {} zeropoint {} }", "quantization: has a form only with absmax"},
           {llama + "weights {} absmax { granularity: COARSE } }",
            "quantization: has a form only with absmax"},
           {llama + "weights { bits: 6 } absmax {} }",
            "quantization.weights.bits: 6 has no form without activations"},
           {llama + "weights { bits: 12 } activations {} absmax {} }", "quantization: more than 8 bits"},
           {llama + "weights { format: NVFP4 } absmax {} }", "quantization: only INTEGER has a form"},
           {llama + "weights { bits: 4 } absmax {} rotation {} }", "quantization.rotation: has no form"},
           {llama + "weights { bits: 4 } absmax {} awq {} }", "quantization.awq: has no form"},
           {llama + "weights { bits: 4 } absmax {} } attention { softmax { sink {} } }",
            "attention, norm or model"}}) {
    EXPECT_THAT(error(text), testing::StartsWith(path)) << text;
    EXPECT_THAT(error(text), testing::EndsWith("export without --compressed-tensors"));
  }
}

}  // namespace
}  // namespace inlier
