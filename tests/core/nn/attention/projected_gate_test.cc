#include "core/nn/attention/projected_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

namespace inlier {
namespace {

class SeenGate : public ActivationTap {
 public:
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    sites.push_back(site);
    values = activation;
    return activation;
  }
  std::vector<std::string> sites;
  at::Tensor values;
};

struct ProjectedGateUnderTest {
  using Place = ProjectedGate::Place;
  static constexpr std::int64_t kWidth = 12, kHeads = 6, kKvHeads = 2, kHeadSize = 2, kBatch = 2, kTokens = 5;

  ProjectedGateUnderTest(Place place, bool headwise, double factor = 1)
      : gate(ParameterScope(root), "gate", kWidth, kHeads, kKvHeads,
             {.place = place, .headwise = headwise, .output_factor = factor}) {
    torch::manual_seed(5);
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : root.parameters()) parameter.normal_();
    root.to(at::kDouble);
    x = torch::randn({kBatch, kTokens, kWidth}, at::kDouble);
  }
  at::Tensor weight() const { return root.named_parameters()["gate.weight"]; }

  torch::nn::Module root;
  ProjectedGate gate;
  at::Tensor x;
};

class ProjectedGateTest : public ::testing::Test {
 protected:
  using Gate = ProjectedGateUnderTest;
  using Place = ProjectedGate::Place;
};

TEST_F(ProjectedGateTest, NoGateHasNoParametersAndChangesNothing) {
  Gate none(Place::kNone, false);
  const at::Tensor y =
      torch::randn({Gate::kBatch, Gate::kTokens, Gate::kHeads, Gate::kHeadSize}, at::kDouble);
  EXPECT_FALSE(none.gate.exists());
  EXPECT_TRUE(none.root.parameters().empty());
  for (const Place place : {Place::kNone, Place::kContext, Place::kOutput})
    EXPECT_TRUE(none.gate.Apply(place, y, none.x, {}).is_same(y));
}

// One number after the other, from the definition.
TEST_F(ProjectedGateTest, EveryNumberIsThatOfTheDefinition) {
  for (const Place place : {Place::kContext, Place::kValue, Place::kKey, Place::kQuery, Place::kOutput}) {
    for (const bool headwise : {false, true}) {
      Gate made(place, headwise, 3);
      const std::int64_t n = place == Place::kKey || place == Place::kValue ? Gate::kKvHeads : Gate::kHeads;
      const std::int64_t width = headwise ? 1 : Gate::kHeadSize;
      ASSERT_EQ(made.weight().sizes(), (std::vector<std::int64_t>{n * width, Gate::kWidth}));
      const at::Tensor y = torch::randn({Gate::kBatch, Gate::kTokens, n, Gate::kHeadSize}, at::kDouble);
      SeenGate tap;
      const at::Tensor gated = made.gate.Apply(place, y, made.x, {.tap = &tap});
      EXPECT_THAT(tap.sites, ::testing::ElementsAre("gate"));
      EXPECT_EQ(tap.values.sizes(), (std::vector<std::int64_t>{Gate::kBatch, n, Gate::kTokens, width}));
      for (std::int64_t b = 0; b < Gate::kBatch; ++b) {
        for (std::int64_t t = 0; t < Gate::kTokens; ++t) {
          for (std::int64_t head = 0; head < n; ++head) {
            for (std::int64_t j = 0; j < Gate::kHeadSize; ++j) {
              const std::int64_t row = headwise ? head : head * Gate::kHeadSize + j;
              const double open = made.weight()[row].dot(made.x[b][t]).sigmoid().item<double>();
              EXPECT_NEAR(gated[b][t][head][j].item<double>(), 3 * open * y[b][t][head][j].item<double>(),
                          1e-13);
              EXPECT_NEAR(tap.values[b][head][t][headwise ? 0 : j].item<double>(), open, 1e-14)
                  << "observed before the factor";
            }
          }
        }
      }
      const Place other = place == Place::kContext ? Place::kValue : Place::kContext;
      EXPECT_TRUE(made.gate.Apply(other, y, made.x, {}).is_same(y));
    }
  }
}

TEST_F(ProjectedGateTest, AFactorOfTheContextIsOneAHead) {
  EXPECT_TRUE(Gate(Place::kContext, true).gate.headwise());
  EXPECT_FALSE(Gate(Place::kContext, false).gate.headwise());
}

}  // namespace
}  // namespace inlier
