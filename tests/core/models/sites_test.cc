// The sites against the reference's own tables of quantizers: names, order, shapes.
#include "core/models/sites.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "tests/core/support/golden_case.h"
#include "tests/core/support/observation_sites.h"

namespace inlier {
namespace {

struct Visit {
  std::string name;
  std::vector<std::int64_t> shape;
  friend bool operator==(const Visit&, const Visit&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Visit& visit) {
    return out << visit.name << " " << at::IntArrayRef(visit.shape);
  }
};

// The tap's quantization sites, under the reference's names of its quantizers.
class QuantizerTable : public ActivationTap {
 public:
  explicit QuantizerTable(bool head) : head_(head) {}
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    if (site != kTiedHeadSite || head_) visits.push_back({site + ".weight_quantizer", weight.sizes().vec()});
    return weight;
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (IsObservationSite(site)) {
      EXPECT_TRUE(observed.insert(site).second) << site << " was seen twice";
    } else if (site != kTiedHeadSite || head_) {
      visits.push_back({site + ".activation_quantizer", activation.sizes().vec()});
    }
    return activation;
  }
  std::vector<Visit> visits;
  std::set<std::string> observed;

 private:
  bool head_;
};

void CompareTables(const std::string& group) {
  int cases = 0;
  for (const GoldenCase& golden : FindGoldenCases(group)) {
    const nlohmann::json& quantization = golden.json["quantization"];
    if (!golden.spec || !quantization["quantize_weights"].get<bool>() ||
        !quantization["quantize_acts"].get<bool>())
      continue;
    ++cases;
    const auto model = ModelOfCase(golden, at::kDouble);
    ASSERT_NE(model, nullptr);
    QuantizerTable table(quantization["setup"] == "all");
    model->Logits(InputOfCase(golden, "input/eval/", 0, golden.json["batch_size"].get<std::int64_t>()),
                  &table);
    std::vector<Visit> expected;
    for (const nlohmann::json& entry : golden.json["expected"]["quantizers"]) {
      EXPECT_EQ(entry["order"].get<std::size_t>(), expected.size());
      expected.push_back({entry["name"].get<std::string>(), entry["shape"].get<std::vector<std::int64_t>>()});
    }
    ASSERT_EQ(table.visits.size(), expected.size()) << golden.name;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(table.visits[i], expected[i]) << golden.name << ", order " << i;
    EXPECT_EQ(table.observed.count("hidden.0"), 1);
  }
  EXPECT_GT(cases, 0);
}

TEST(SitesTest, BertVisitsTheReferencesQuantizersInItsOrder) { CompareTables("ptq_bert"); }

TEST(SitesTest, OptVisitsTheReferencesQuantizersInItsOrder) { CompareTables("ptq_opt"); }

TEST(SitesTest, ObservationsDifferFromQuantizers) {
  for (const char* site :
       {"hidden.0", "hidden.12", "bert.encoder.layer.0.attention.self.probs", "model.decoder.layers.11",
        "bert.encoder.layer.3.attention.self.gate", "model.decoder.layers.0.self_attn.context",
        "bert.encoder.layer.0.output.LayerNorm.input", "vit.encoder.layer.7",
        "vit.encoder.layer.0.attention.attention.context"}) {
    EXPECT_TRUE(IsObservationSite(site)) << site;
  }
  for (const char* site :
       {"lm_head", "model.decoder.layers.11.fc2", "bert.encoder.layer.0.intermediate.0",
        "model.decoder.project_in", "bert.encoder.layer.0.attention.self.context_act_quantizer",
        "model.decoder.embed_tokens", "vit.encoder.layer.0.intermediate.act_quantizer",
        "vit.encoder.layer.0.output.res_act_quantizer", "vit.embeddings.sum_pos_embd_act_quantizer"}) {
    EXPECT_FALSE(IsObservationSite(site)) << site;
  }
}

// The tap's results are used: changing any weight or activation on the way, observations included, changes
// the logits.
TEST(SitesTest, TheTapsResultIsUsedInThePlaceOfTheTensor) {
  class Disturber : public ActivationTap {
   public:
    at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
      return Visit("W " + site, weight);
    }
    at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
      return Visit("A " + site, activation);
    }
    std::string target;
    std::vector<std::string> seen;

   private:
    at::Tensor Visit(const std::string& what, const at::Tensor& tensor) {
      seen.push_back(what);
      return what == target
                 ? tensor + torch::linspace(-1, 1, tensor.numel(), at::kDouble).view(tensor.sizes())
                 : tensor;
    }
  };
  for (const std::string group : {"bert", "opt"}) {
    const std::vector<GoldenCase> cases = FindGoldenCases(group);
    // Another folder need not have a gate without clipping.
    bool found = std::getenv("INLIER_GOLDEN_DIR") != nullptr;
    for (const GoldenCase& golden : cases) {
      if (!golden.spec || !golden.spec->attention().gate().has_linear() ||
          golden.spec->attention().softmax().has_clipped())
        continue;
      found = true;
      const auto model = ModelOfCase(golden, at::kDouble);
      ASSERT_NE(model, nullptr);
      const ModelInput input = InputOfCase(golden);
      Disturber disturber;
      const at::Tensor plain = model->Logits(input, &disturber);
      const v1::ModelSpec& spec = golden.spec->model();
      ASSERT_GT(disturber.seen.size(), 20 * (spec.has_bert() ? spec.bert().layers() : spec.opt().layers()));
      for (const std::string& site : std::vector<std::string>(disturber.seen)) {
        disturber.target = site;
        EXPECT_FALSE(model->Logits(input, &disturber).allclose(plain)) << golden.name << ": " << site;
      }
    }
    EXPECT_TRUE(found) << group;
  }
}

}  // namespace
}  // namespace inlier
