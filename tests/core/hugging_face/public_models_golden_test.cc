// Small models of public architectures against transformers' classes (group public_models, section 11 of
// tests/golden/README-models.md): names, keys of config.json, and logits.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "core/hugging_face/weights.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

void ComparePublicModel(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision) {
  const std::string name = golden.name.substr(0, golden.name.rfind("_expected"));
  const auto opened = OpenHuggingFaceModel(GoldenRoot() / golden.group / name);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(opened->has_head) << golden.name;
  opened->model->to(precision);
  ModelInput input;
  at::Tensor real;
  if (golden.Has("input/pixel_values")) {
    input.pixels = golden.Tensor("input/pixel_values").to(precision);
  } else {
    input = InputOfCase(golden);
    real = input.attention_mask.to(at::kBool);
  }
  const auto at_tokens = [&real](const at::Tensor& x) { return real.defined() ? x.index({real}) : x; };
  GoldenComparison compare(report, golden, precision);
  const at::Tensor expected = at_tokens(golden.Tensor("out/logits"));
  const Tolerance tolerance = RelativeToLargest(TolerancesOf(golden, precision)["logits_relmax"], expected);
  RecordingTap recorder;
  compare.Tensors("logits", at_tokens(opened->model->Logits(input, &recorder)), expected, tolerance);
  compare.Tensors("logits without a tap", at_tokens(opened->model->Logits(input)), expected, tolerance);
}

TEST(PublicModelsGoldenTest, FoldersGiveTheLogitsOfTransformers) {
  GoldenReport report("public_models");
  for (const GoldenCase& golden : FindGoldenCases("public_models")) {
    if (!report.Accepts(golden, FileIsUsed(golden, {"checkpoint", "class", "transformers"}))) continue;
    ComparePublicModel(report, golden, at::kDouble);
    ComparePublicModel(report, golden, at::kFloat);
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
