// Linears with rounded operands and learned scales against the recipes written once more in plain PyTorch: group low_precision of
// tests/golden/README-models.md.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <map>
#include <string>

#include "core/train/low_precision/learned_scale.h"
#include "core/train/low_precision/rounded_linear.h"
#include "spec/trial/number_formats.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

// Sums are in another order than PyTorch's.
constexpr Tolerance kOfSums = {.absolute = 1e-12, .per_magnitude = true};

LinearRounding RoundingOfCase(const GoldenCase& golden, const nlohmann::json& json) {
  v1::LowPrecisionSpec spec;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json.dump(), &spec).ok()) << json;
  WriteFormatBits(&spec);
  LinearRounding rounding;
  if (spec.has_weights()) rounding.weights = RoundingOf(spec.weights());
  if (spec.has_activations()) rounding.inputs = RoundingOf(spec.activations());
  if (spec.has_gradients()) rounding.gradients = RoundingOf(spec.gradients());
  if (spec.hadamard_size() > 0) {
    rounding.rotation = golden.Tensor("input/rotation");
    EXPECT_EQ(rounding.rotation.size(0), spec.hadamard_size());
  }
  return rounding;
}

void CompareNetwork(GoldenReport& report, const GoldenCase& golden, CaseSettings& config) {
  const LinearRounding rounding = RoundingOfCase(golden, config.At("low_precision"));
  std::map<std::string, at::Tensor> leaves;
  for (const std::string& name : golden.KeysUnder("grad/"))
    leaves[name] = golden.Tensor("input/" + name).clone().requires_grad_();
  const auto linear = [&](const at::Tensor& x, const std::string& name) {
    return RoundedLinear(x, leaves.at(name + ".weight"), leaves.at(name + ".bias"), rounding);
  };
  const at::Tensor y = linear(at::gelu(linear(leaves.at("x"), "first")), "second");
  (y * golden.Tensor("input/coefficients")).sum().backward();
  GoldenComparison compare(report, golden, at::kDouble);
  compare.Tensor("out/y", y, kOfSums);
  for (const auto& [name, leaf] : leaves) compare.Tensor("grad/" + name, leaf.grad(), kOfSums);
}

void CompareLearnedScale(GoldenReport& report, const GoldenCase& golden, CaseSettings& config) {
  const int bits = config.At("bits");
  const at::Tensor v = golden.Tensor("input/v").clone().requires_grad_();
  const at::Tensor scale = golden.Tensor("input/scale").clone().requires_grad_();
  const at::Tensor rounded = RoundWithLearnedScale(v, scale, bits, v.numel());
  (rounded * golden.Tensor("input/gradient")).sum().backward();
  GoldenComparison compare(report, golden, at::kDouble);
  compare.Tensor("out/v", rounded, kOfSums);
  compare.Tensor("out/initial_scale", InitialScale(v, bits), kOfSums);
  compare.Tensor("grad/v", v.grad(), kOfSums);
  compare.Tensor("grad/scale", scale.grad(), kOfSums);
}

TEST(LowPrecisionGoldenTest, RecipesInPlainPyTorch) {
  GoldenReport report("low_precision");
  for (const GoldenCase& golden : FindGoldenCases("low_precision")) {
    CaseSettings config(golden, "config");
    if (golden.name.starts_with("lsq")) {
      CompareLearnedScale(report, golden, config);
    } else {
      CompareNetwork(report, golden, config);
    }
    report.Accepts(golden, All({FileIsUsed(golden, {"config"}), config.AllUsed()}));
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
