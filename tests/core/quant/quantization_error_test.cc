// The noise of single quantizers against plain loops, and the tap that leaves one out.
#include "core/quant/quantization_error.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/quant/linear/linear_quantization.h"
#include "core/quant/post_training_quantization.h"
#include "google/protobuf/text_format.h"

namespace inlier {
namespace {

const char kOutput[] = "bert.encoder.layer.0.output.dense";
const char kKey[] = "bert.encoder.layer.0.attention.self.key";

std::unique_ptr<PostTrainingQuantization> ReferenceScheme() {
  v1::QuantizationSpec spec;
  spec.mutable_weights()->set_bits(4);
  spec.mutable_activations()->set_bits(8);
  return PostTrainingQuantization::Create(spec, v1::ModelSpec::kBert).value();
}

// The definition written out.
struct Plain {
  double sum = 0, squares = 0, errors = 0, largest = 0, count = 0;
  void Add(const at::Tensor& exact, const at::Tensor& rounded) {
    const at::Tensor x = exact.to(torch::kFloat64).flatten(), q = rounded.to(torch::kFloat64).flatten();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double value = x[i].item<double>(), error = value - q[i].item<double>();
      sum += value;
      squares += value * value;
      errors += error * error;
      largest = std::max(largest, std::abs(value));
      count += 1;
    }
  }
  double Sqnr() const { return 10 * std::log10(squares / errors); }
  double CrestFactor() const { return largest / std::sqrt(squares / count - sum / count * sum / count); }
};

const QuantizerError& Find(const std::vector<QuantizerError>& report, const std::string& tensor) {
  for (const QuantizerError& error : report) {
    if (error.tensor == tensor) return error;
  }
  ADD_FAILURE() << "no " << tensor;
  return report.front();
}

TEST(QuantizationErrorTest, IsThatOfThePlainDefinitionOverAllBatches) {
  torch::manual_seed(1);
  for (const at::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
    const auto ptq = ReferenceScheme();
    ptq->OnActivation(kOutput, torch::randn({2, 5, 7}, dtype));
    EXPECT_TRUE(ptq->Freeze().ok());
    QuantizationErrorRecorder recorder(*ptq);
    Plain activation, weight;
    const at::Tensor w = torch::randn({6, 9}, dtype);
    for (int batch = 0; batch < 3; ++batch) {
      const at::Tensor x = torch::randn({2, 5, 7}, dtype) + 0.5;  // Also beyond the range.
      const at::Tensor rounded = recorder.OnActivation(kOutput, x);
      EXPECT_TRUE(torch::equal(rounded, ptq->OnActivation(kOutput, x)));
      activation.Add(x, rounded);
      const at::Tensor rounded_weight = recorder.OnWeight(kOutput, w);
      if (batch == 0) weight.Add(w, rounded_weight);
    }
    const std::vector<QuantizerError> report = recorder.Report();
    ASSERT_EQ(report.size(), 2u);
    EXPECT_EQ(report[0].tensor, kOutput) << "in order of first use";
    EXPECT_NEAR(report[0].sqnr_db.value(), activation.Sqnr(), 1e-9);
    EXPECT_NEAR(report[0].crest_factor.value(), activation.CrestFactor(), 1e-9);
    EXPECT_EQ(report[1].tensor, std::string(kOutput) + ".weight");
    EXPECT_NEAR(report[1].sqnr_db.value(), weight.Sqnr(), 1e-9);
    EXPECT_NEAR(report[1].crest_factor.value(), weight.CrestFactor(), 1e-9);
  }
}

// More than one part of the parallel sum, and a tensor whose elements are not in a row.
TEST(QuantizationErrorTest, LargeAndTransposedTensorsAreSummedWhole) {
  torch::manual_seed(2);
  const auto ptq = ReferenceScheme();
  const at::Tensor x = torch::randn({300, 500}).t();
  ptq->OnActivation(kOutput, x);
  EXPECT_TRUE(ptq->Freeze().ok());
  QuantizationErrorRecorder recorder(*ptq);
  const at::Tensor q = recorder.OnActivation(kOutput, x).to(torch::kFloat64), exact = x.to(torch::kFloat64);
  const double expected =
      10 * std::log10(exact.square().sum().item<double>() / (exact - q).square().sum().item<double>());
  EXPECT_NEAR(recorder.Report().at(0).sqnr_db.value(), expected, 1e-9);
}

// bfloat16 goes by the operations that a GPU uses.
TEST(QuantizationErrorTest, OtherTypesHaveTheSameNumbersUpToTheirPrecision) {
  torch::manual_seed(3);
  const at::Tensor x = torch::randn({64, 64}).to(torch::kBFloat16);
  double sqnr[2];
  for (const bool wide : {false, true}) {
    const auto ptq = ReferenceScheme();
    const at::Tensor seen = wide ? x.to(torch::kFloat32) : x;
    QuantizationErrorRecorder recorder(*ptq);
    recorder.OnWeight(kOutput, seen);
    sqnr[wide] = recorder.Report().at(0).sqnr_db.value();
  }
  EXPECT_NEAR(sqnr[0], sqnr[1], 0.1);
}

TEST(QuantizationErrorTest, AQuantizerThatIsMadeBadIsTheWorst) {
  torch::manual_seed(4);
  const auto ptq = ReferenceScheme();
  const at::Tensor x = torch::randn({8, 16});
  for (const char* site : {kOutput, kKey}) ptq->OnActivation(site, x);
  ptq->SetActivationRange(kKey, {{-300}, {300}, false});
  EXPECT_TRUE(ptq->Freeze().ok());
  QuantizationErrorRecorder recorder(*ptq);
  for (const char* site : {kOutput, kKey}) recorder.OnActivation(site, x);
  const std::vector<QuantizerError> report = recorder.Report();
  EXPECT_LT(Find(report, kKey).sqnr_db.value(), Find(report, kOutput).sqnr_db.value() - 30);
  EXPECT_DOUBLE_EQ(Find(report, kKey).crest_factor.value(), Find(report, kOutput).crest_factor.value());
}

TEST(QuantizationErrorTest, WhatHasNoRatioIsAbsentAndNaNStays) {
  const auto ptq = ReferenceScheme();
  QuantizationErrorRecorder recorder(*ptq);
  recorder.OnWeight(kOutput, torch::full({3, 4}, 0.7f));
  ptq->SetActivationRange(kKey, {{0}, {255}, false});
  recorder.OnActivation(kKey, torch::arange(0, 256, torch::kFloat32));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ptq->SetActivationRange(kOutput, {{0}, {1}, false});
  recorder.OnActivation(kOutput, torch::tensor({0.3f, nan}));
  const std::vector<QuantizerError> report = recorder.Report();
  EXPECT_FALSE(Find(report, std::string(kOutput) + ".weight").crest_factor.has_value()) << "all equal";
  EXPECT_FALSE(Find(report, kKey).sqnr_db.has_value()) << "every number is on the grid";
  EXPECT_TRUE(std::isnan(Find(report, kOutput).sqnr_db.value()));
}

TEST(QuantizationErrorTest, LinearsHaveNamesForInputsWeightsAndOutputs) {
  v1::QuantizationSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "weights {} activations {} absmax { granularity: COARSE }", &spec));
  const auto quantization = LinearQuantization::Create(spec, v1::ModelSpec::kGpt2).value();
  EXPECT_TRUE(quantization->Freeze().ok());
  QuantizationErrorRecorder recorder(*quantization);
  torch::manual_seed(5);
  recorder.OnLinearInput("h.0.mlp.c_fc", torch::randn({2, 4}));
  recorder.OnLinearWeight("h.0.mlp.c_fc", torch::randn({3, 4}));
  recorder.OnLinearOutput("h.0.mlp.c_fc", torch::randn({2, 3}));
  recorder.OnActivation("h.0.mlp", torch::randn({2, 3}));
  std::vector<std::string> tensors;
  for (const QuantizerError& error : recorder.Report()) tensors.push_back(error.tensor);
  EXPECT_EQ(tensors, (std::vector<std::string>{"h.0.mlp.c_fc.input", "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc"}));
}

// Two sequences of two tokens and one of padding: the numbers are those of the four tokens.
TEST(QuantizationErrorTest, PaddingCountsNowhere) {
  torch::manual_seed(7);
  const at::Tensor mask = torch::tensor({{1, 1, 0}, {0, 1, 1}});
  const at::Tensor real = mask.to(torch::kBool);
  const at::Tensor x = torch::randn({2, 3, 4}), scores = torch::randn({2, 2, 3, 3});
  const at::Tensor padded = torch::where(real.unsqueeze(-1), x, torch::full({}, 1000.f));
  const at::Tensor visible =
      real.view({2, 1, 3, 1}).logical_and(real.view({2, 1, 1, 3})).expand({2, 2, 3, 3});
  const at::Tensor padded_scores = torch::where(visible, scores, torch::full({}, -1000.f));
  const std::string of_scores = "bert.encoder.layer.0.attention.self.attn_scores_act_quantizer";
  const auto report_of = [&](const at::Tensor& attention_mask, bool count_padding,
                             const std::vector<at::Tensor>& tensors) {
    const auto ptq = ReferenceScheme();
    for (const std::string& site : {std::string(kOutput), std::string(kKey), of_scores})
      ptq->SetActivationRange(site, {{-3}, {3}, false});
    EXPECT_TRUE(ptq->Freeze().ok());
    QuantizationErrorRecorder recorder(*ptq, count_padding);
    recorder.OnPass(attention_mask);
    recorder.OnActivation(kOutput, tensors[0]);
    recorder.OnActivation(kKey, tensors[1]);
    recorder.OnActivation(of_scores, tensors[2]);
    return recorder.Report();
  };
  const auto measured = report_of(mask, false, {padded, padded.reshape({6, 4}), padded_scores});
  const at::Tensor text = x.index({real}), pairs = scores.masked_select(visible);
  const auto expected = report_of({}, false, {text, text, pairs});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(measured[i].sqnr_db.value(), expected[i].sqnr_db.value(), 1e-9) << expected[i].tensor;
    EXPECT_NEAR(measured[i].crest_factor.value(), expected[i].crest_factor.value(), 1e-9)
        << expected[i].tensor;
  }
  const auto counted = report_of(mask, true, {padded, padded.reshape({6, 4}), padded_scores});
  EXPECT_LT(counted[0].sqnr_db.value(), 1) << "clipped from 1000 to 3";
}

TEST(LeaveOneOutTest, OneTensorPassesAsItIs) {
  torch::manual_seed(6);
  const at::Tensor x = torch::randn({4, 4});
  const auto ptq = ReferenceScheme();
  for (const char* site : {kOutput, kKey}) ptq->OnActivation(site, x);
  EXPECT_TRUE(ptq->Freeze().ok());
  LeaveOneOut output(*ptq, kOutput), weight(*ptq, std::string(kKey) + ".weight"), none(*ptq, "nowhere");
  EXPECT_TRUE(output.OnActivation(kOutput, x).is_same(x));
  EXPECT_FALSE(torch::equal(output.OnActivation(kKey, x), x));
  EXPECT_FALSE(torch::equal(output.OnWeight(kOutput, x), x))
      << "the weight of the site has its own quantizer";
  EXPECT_TRUE(weight.OnWeight(kKey, x).is_same(x));
  EXPECT_TRUE(torch::equal(none.OnActivation(kOutput, x), ptq->OnActivation(kOutput, x)));
}

}  // namespace
}  // namespace inlier
