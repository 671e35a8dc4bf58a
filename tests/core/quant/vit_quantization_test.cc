// The scheme `reference` on ViT: there are no reference numbers
// (docs/decisions/0006-reference-quantizers.md), so the tests check the sites of the quantizers and their
// effect.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <string>
#include <vector>

#include "core/models/make_model.h"
#include "core/models/sites.h"
#include "core/quant/make_quantization.h"
#include "core/quant/quantized_sites.h"
#include "tests/core/support/observation_sites.h"

namespace inlier {
namespace {

constexpr int kLayers = 2;

std::shared_ptr<Model> MakeTinyVit(const std::string& fields = "patch_norm: true") {
  at::set_num_threads(1);
  v1::TrialSpec spec;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString("model { vit { layers: 2 hidden_size: 32 heads: 4 "
                                                    "ffn_size: 64 image_size: 16 patch_size: 4 channels: 1 "
                                                    "classes: 10 initial_std: 0.2 " +
                                                        fields + " } }",
                                                    &spec));
  auto model = MakeModel(spec).value();
  InitialiseWeights(*model, spec, 3);
  model->eval();
  return model;
}

ModelInput Images(std::uint64_t seed) {
  torch::manual_seed(seed);
  ModelInput input;
  input.pixels = torch::randn({16, 1, 16, 16});
  return input;
}

v1::QuantizationSpec Bits(int weights, int activations,
                          v1::ReferenceSchemeSpec::Setup setup = v1::ReferenceSchemeSpec::ALL) {
  v1::QuantizationSpec spec;
  spec.mutable_weights()->set_bits(weights);
  spec.mutable_activations()->set_bits(activations);
  spec.mutable_reference()->set_setup(setup);
  return spec;
}

// Calibrated with four batches and frozen.
std::unique_ptr<Quantization> Calibrated(Model& model, const v1::QuantizationSpec& spec) {
  auto quantization = MakeQuantization(spec, v1::ModelSpec::kVit).value();
  const torch::NoGradGuard no_grad;
  for (std::uint64_t batch = 0; batch < 4; ++batch) model.Logits(Images(100 + batch), quantization.get());
  EXPECT_TRUE(quantization->Freeze().ok());
  return quantization;
}

// The table with its layers written out: " W" and " A" after the sites.
std::vector<std::string> TableInOrder() {
  std::vector<std::string> expected;
  const auto add = [&expected](const QuantizedSite& site, const std::string& name) {
    if (site.weight) expected.push_back(name + " W");
    if (site.activation) expected.push_back(name + " A");
  };
  const std::vector<QuantizedSite>& table = QuantizedSites(v1::ModelSpec::kVit);
  std::size_t at = 0;
  const auto in_layer = [&table](std::size_t i) { return table[i].path.find('*') != std::string_view::npos; };
  for (; !in_layer(at); ++at) add(table[at], std::string(table[at].path));
  const std::size_t first = at;
  for (int layer = 0; layer < kLayers; ++layer) {
    for (at = first; in_layer(at); ++at) {
      std::string name(table[at].path);
      add(table[at], name.replace(name.find('*'), 1, std::to_string(layer)));
    }
  }
  for (; at < table.size(); ++at) add(table[at], std::string(table[at].path));
  return expected;
}

std::vector<std::string> SitesOf(const Quantization& quantization) {
  std::vector<std::string> sites;
  for (const QuantizerReport& report : quantization.Table())
    sites.push_back(report.site + (report.is_weight() ? " W" : " A"));
  return sites;
}

TEST(VitQuantizationTest, EveryQuantizerOfTheTableIsReachedOnceALayerAndInOrder) {
  const auto model = MakeTinyVit();
  const auto quantization = Calibrated(*model, Bits(8, 8));
  EXPECT_EQ(SitesOf(*quantization), TableInOrder());
  // Patches 2, their norm 2, the sum 1; a layer 21; the last norm 2, the classifier 2.
  EXPECT_EQ(quantization->Table().size(), 5 + kLayers * 21 + 4);
}

// Every quantization site of the model is in the table: no site stays float by mistake.
TEST(VitQuantizationTest, NoSiteOfTheModelIsLeftOut) {
  class Lister : public ActivationTap {
   public:
    at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
      sites.push_back(site + " W");
      return weight;
    }
    at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
      if (!IsObservationSite(site)) sites.push_back(site + " A");
      return activation;
    }
    std::vector<std::string> sites;
  } lister;
  MakeTinyVit()->Logits(Images(1), &lister);
  EXPECT_EQ(lister.sites, TableInOrder());
}

TEST(VitQuantizationTest, WeightsAreSymmetricAndActivationsAsymmetricWithOneRangeATensor) {
  const auto model = MakeTinyVit();
  for (const QuantizerReport& report : Calibrated(*model, Bits(8, 6))->Table()) {
    EXPECT_EQ(report.bits, report.is_weight() ? 8 : 6) << report.site;
    EXPECT_EQ(report.symmetric, report.is_weight()) << report.site;
    EXPECT_EQ(report.range.minimum.size(), 1) << report.site;
    EXPECT_EQ(report.grid.scale.size(), 1) << report.site;
  }
}

// Mean squared difference of the logits of new images.
double Cost(Model& model, const v1::QuantizationSpec& spec) {
  const auto quantization = Calibrated(model, spec);
  const torch::NoGradGuard no_grad;
  const at::Tensor plain = model.Logits(Images(1));
  return (model.Logits(Images(1), quantization.get()) - plain).square().mean().item<double>() /
         plain.square().mean().item<double>();
}

TEST(VitQuantizationTest, EightBitsChangeLogitsALittleAndFourMore) {
  const auto model = MakeTinyVit();
  const double eight = Cost(*model, Bits(8, 8)), six = Cost(*model, Bits(6, 6)),
               four = Cost(*model, Bits(4, 4));
  EXPECT_GT(eight, 0);
  EXPECT_LT(eight, 0.01);
  EXPECT_GT(six, 4 * eight);
  EXPECT_GT(four, 4 * six);
}

TEST(VitQuantizationTest, SetupsTreatHeadAndNormsInTheirOwnWay) {
  const auto model = MakeTinyVit();
  using Setup = v1::ReferenceSchemeSpec;
  const auto bits_of = [&](Setup::Setup setup, const std::string& site) {
    for (const QuantizerReport& report : Calibrated(*model, Bits(8, 8, setup))->Table()) {
      if (report.site == site) return report.bits;
    }
    return 0;
  };
  EXPECT_EQ(bits_of(Setup::ALL, "classifier"), 8);
  EXPECT_EQ(bits_of(Setup::FP32_HEAD, "classifier"), 0);
  EXPECT_EQ(bits_of(Setup::FP32_HEAD_INT16_FINAL_LN, "vit.layernorm"), 16);
  EXPECT_EQ(bits_of(Setup::FP32_HEAD_INT16_FINAL_LN, "vit.encoder.layer.1.layernorm_after"), 8);
  EXPECT_EQ(bits_of(Setup::FP32_HEAD_INT16_ALL_LN, "vit.encoder.layer.1.layernorm_after"), 16);
}

TEST(VitQuantizationTest, WithoutAPatchNormOrPositionsTheirQuantizersAreNotReached) {
  const auto model = MakeTinyVit("position: NONE");
  std::vector<std::string> expected;
  for (const std::string& site : TableInOrder()) {
    const bool absent = site.starts_with("vit.embeddings.patch_embeddings.norm") ||
                        site.starts_with("vit.embeddings.sum_pos");
    if (!absent) expected.push_back(site);
  }
  EXPECT_EQ(SitesOf(*Calibrated(*model, Bits(8, 8))), expected);
}

}  // namespace
}  // namespace inlier
