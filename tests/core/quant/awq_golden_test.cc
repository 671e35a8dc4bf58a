// AWQ against the authors' code: group awq of tests/golden/README-models.md.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/quant/awq.h"
#include "core/quant/part_grid.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

// The scales of q_proj, k_proj and v_proj, which read `attention`, and of o_proj, which reads `context`; the narrowed ranges of v_proj and o_proj; then
// all as they are rounded. In float32 the scales alone: a range cut at both ends has its zero point, (2^bits - 1) / 2, halfway between two integers, so
// that the last bit decides between them, and with them which range is best.
void CompareAwq(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision, int bits,
                std::int64_t group, int grid) {
  const double bound = precision == at::kDouble ? 1e-12 : 1e-6;
  const std::string out = absl::StrCat("out/", bits, "_bits_group_", group, "/");
  const auto round = [bits, group](const at::Tensor& weight) {
    return RoundToPart(weight,
                       GridOfPart(weight, {.bits = bits, .scope = ScaleScope::kRow, .group_size = group},
                                  LinearQuantizationOptions::Grid::kZeropoint));
  };
  GoldenComparison compare(report, golden, precision);
  for (const auto& [input, names] :
       {std::pair(std::string("attention"), std::vector<std::string>{"v_proj", "q_proj", "k_proj"}),
        {"context", {"o_proj"}}}) {
    InputMoments moments;
    moments.Add(golden.Tensor("input/" + input).to(precision), {});
    std::vector<at::Tensor> weights;
    for (const std::string& name : names) weights.push_back(golden.Tensor("param/" + name).to(precision));
    const auto factors = AwqFactors(moments, weights, grid, round);
    ASSERT_TRUE(factors.ok()) << factors.status();
    EXPECT_EQ(factors->scalar_type(), precision);
    compare.Tensor(out + "factors/" + input, *factors, {.relative = bound});
    if (precision != at::kDouble) continue;
    const at::Tensor scaled = weights[0].mul(*factors);
    const at::Tensor clipped =
        AwqClipped(scaled, moments.matrix().div(*factors).t().div(*factors), group, grid, round);
    compare.Tensor(out + "limits/" + names[0], GroupMaxima(clipped, group), {.relative = bound});
    compare.Tensor(out + "rounded/" + names[0], round(clipped), {.absolute = bound, .relative = bound});
    if (names.size() > 1)
      compare.Tensor(out + "rounded/q_proj", round(weights[1].mul(*factors)),
                     {.absolute = bound, .relative = bound});
  }
}

TEST(AwqGoldenTest, AuthorsCode) {
  GoldenReport report("awq");
  for (const GoldenCase& golden : FindGoldenCases("awq")) {
    CaseSettings config(golden, "config");
    const int grid = config.At("grid");
    for (const nlohmann::json& setting : config.At("settings")) {
      for (const at::ScalarType precision : {at::kDouble, at::kFloat})
        CompareAwq(report, golden, precision, setting.at("bits"), setting.at("group_size"), grid);
    }
    report.Accepts(golden, All({FileIsUsed(golden, {"config"}), config.AllUsed()}));
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
