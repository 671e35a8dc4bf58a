// Which quantization the curves of a training have, and which trainings are the same.
#include "spec/trial/quantized_curve.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/trial/canonical.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

absl::StatusOr<v1::TrialSpec> With(const char* base, const std::string& training) {
  v1::TrialSpec spec = TrialFrom(base);
  spec.MergeFrom(TrialFrom("{training: {" + training + "}}"));
  return ResolveAndValidate(spec);
}

v1::QuantizationSpec CurveOf(const char* base, const std::string& training) {
  const auto spec = With(base, training);
  EXPECT_TRUE(spec.ok()) << training << ": " << spec.status();
  return spec.ok() ? CurveQuantization(*spec) : v1::QuantizationSpec();
}

std::string ErrorOf(const char* base, const std::string& training) {
  return MessageOf(With(base, training).status());
}

const std::string kEvery = "measure_quantized_every: 100";

TEST(QuantizedCurveTest, W8A8OfTheModelsUsualSchemeWhenNothingIsGiven) {
  for (const char* base : {kTinyBert, kTinyOpt, kTinyVit, kTinyGpt2}) {
    const v1::QuantizationSpec quantization = CurveOf(base, kEvery);
    EXPECT_EQ(quantization.weights().bits(), 8u);
    EXPECT_EQ(quantization.activations().bits(), 8u);
    const bool gpt2 = base == kTinyGpt2;
    EXPECT_EQ(quantization.has_absmax(), gpt2);
    EXPECT_EQ(quantization.has_reference(), !gpt2);
    EXPECT_EQ(quantization.has_calibration(), !gpt2) << "absmax takes its scales from each batch";
    EXPECT_EQ(quantization.reference().setup(),
              base == kTinyVit ? v1::ReferenceSchemeSpec::ALL : v1::ReferenceSchemeSpec::FP32_HEAD);
  }
}

// The fields mean the same as those of a trial's own quantization.
TEST(QuantizedCurveTest, GivenFieldsAreThoseOfATrialsQuantization) {
  const std::string fields =
      "{weights: {bits: 6, range: {mse: {}}}, activations: {bits: 7}, calibration: {batches: 3, batch_size: "
      "5, "
      "seed: 9}";
  v1::TrialSpec own = TrialFrom(kTinyOpt);
  own.MergeFrom(TrialFrom("{quantization: " + fields + "}}"));
  EXPECT_EQ(CanonicalJson(CurveOf(kTinyOpt, kEvery + ", quantized_curve: " + fields + ", batches: 4}")),
            CanonicalJson(ResolveAndValidate(own)->quantization()));
}

TEST(QuantizedCurveTest, MistakesAreNamedAtTheirField) {
  EXPECT_EQ(
      ErrorOf(kTinyBert, "quantized_curve: {}"),
      "training.quantized_curve: has no effect, for training.measure_quantized_every is 0: give it, such as "
      "100, or leave this out");
  EXPECT_THAT(ErrorOf(kTinyBert, kEvery + ", quantized_curve: {reference: {setup: ALL}}"),
              testing::StartsWith("training.quantized_curve.reference.setup: ALL is for model.opt"));
  EXPECT_THAT(ErrorOf(kTinyGpt2, kEvery + ", quantized_curve: {reference: {}}"),
              testing::StartsWith("training.quantized_curve.reference: places quantizers where"));
}

// Curves change no weight, so that their period makes no other training, as that of the outliers' curves; other bits do,
// because a curve carries no label of its bits.
TEST(QuantizedCurveTest, ThePeriodIsNotInTheFingerprintAndTheBitsAre) {
  const std::string never = TrainFingerprint(*With(kTinyBert, ""));
  EXPECT_EQ(TrainFingerprint(*With(kTinyBert, kEvery)), never);
  const std::string six =
      TrainFingerprint(*With(kTinyBert, kEvery + ", quantized_curve: {weights: {bits: 6}}"));
  EXPECT_NE(six, never);
  EXPECT_EQ(
      TrainFingerprint(*With(kTinyBert, "measure_quantized_every: 7, quantized_curve: {weights: {bits: 6}}")),
      six);
}

TEST(QuantizedCurveTest, ARegularizerIsInTheFingerprintAndHasAPenalty) {
  EXPECT_NE(TrainFingerprint(*With(kTinyBert, "regularizer: {kurtosis: {weight: 0.01}}")),
            TrainFingerprint(*With(kTinyBert, "")));
  EXPECT_THAT(ErrorOf(kTinyBert, "regularizer: {}"),
              testing::StartsWith("training.regularizer: has nothing"));
  EXPECT_THAT(ErrorOf(kTinyBert, "regularizer: {kurtosis: {}}"),
              testing::HasSubstr("training.regularizer.kurtosis.weight: is missing"));
}

}  // namespace
}  // namespace inlier
