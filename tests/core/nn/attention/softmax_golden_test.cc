// Every softmax of core/nn/attention/softmax.h against the pure functions of tests/golden/README-models.md, section 5:
// weights and gradients, rows of -inf and of the most negative number included.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <string>

#include "core/nn/attention/softmax.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

struct Result {
  at::Tensor weights;
  at::Tensor sink;  // The leaf that the sink's gradient arrives at; undefined without a sink.
};

// `function` of the scores.
Result Apply(const GoldenCase& golden, const std::string& function, CaseSettings& parameters,
             const at::Tensor& scores) {
  const at::Tensor n = golden.Tensor("input/n").to(scores.scalar_type());
  if (function == "softmax") return {Softmax(scores), {}};
  if (function == "clipped")
    return {ClippedSoftmax(scores, parameters.At("gamma"), parameters.At("zeta")), {}};
  if (function == "ncs") {
    const double zeta = parameters.At("zeta");
    return {ClippedSoftmax(scores, NcsGamma(parameters.At("beta"), zeta, n), zeta), {}};
  }
  if (function == "softmax1") return {NullKeySoftmax(scores, 0.0), {}};
  if (function == "softmax_n")
    return {NullKeySoftmax(scores, std::log(parameters.At("n").get<double>())), {}};
  if (function == "sink") {
    const at::Tensor sink = golden.Tensor("input/sink").to(scores.scalar_type()).clone().requires_grad_();
    return {NullKeySoftmax(scores, sink), sink};
  }
  if (function == "softpick") return {Softpick(scores, parameters.At("eps")), {}};
  if (function == "sigmoid") return {SigmoidAttention(scores, n), {}};
  return {};
}

// Undefined weights for a case with a setting that is not read.
Result Compute(const GoldenCase& golden, const at::Tensor& scores) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes({"parameters"});
  const std::string function = file.OneOf(
      "function", {"softmax", "clipped", "ncs", "softmax1", "softmax_n", "sink", "softpick", "sigmoid"});
  CaseSettings parameters(golden, "parameters");
  const Result result = Apply(golden, function, parameters, scores);
  return All({file.AllUsed(), parameters.AllUsed()}) ? result : Result();
}

void CompareSoftmax(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision) {
  const auto& tolerances = TolerancesOf(golden, precision);
  const at::Tensor scores = golden.Tensor("input/scores").to(precision).clone().requires_grad_();
  const Result result = Compute(golden, scores);
  if (!report.Accepts(golden, result.weights.defined())) return;
  GoldenComparison compare(report, golden, precision);
  compare.Tensor("out/weights", result.weights, {.absolute = tolerances["weights_abs"].get<double>()});
  (result.weights * golden.Tensor("input/upstream_grad").to(precision)).sum().backward();
  const Tolerance gradients{.absolute = tolerances["grad_abs"].get<double>()};
  compare.Tensor("grad/scores", scores.grad(), gradients);
  if (result.sink.defined()) compare.Tensor("grad/sink", result.sink.grad(), gradients);

  // A row that is entirely -inf: exactly 0, and never NaN.
  const at::Tensor empty = scores.isneginf().all(-1);
  EXPECT_EQ(result.weights.index({empty}).abs().sum().item<double>(), 0) << golden.name;
  EXPECT_EQ(scores.grad().index({empty}).abs().sum().item<double>(), 0) << golden.name;
}

TEST(SoftmaxGoldenTest, EveryFunctionMatchesTheReference) {
  GoldenReport report("softmax");
  for (const GoldenCase& golden : FindGoldenCases("softmax")) {
    CompareSoftmax(report, golden, at::kDouble);
    CompareSoftmax(report, golden, at::kFloat);
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
