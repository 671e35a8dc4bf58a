// Sequences of several lengths, measured as one padded batch and one by one without padding: the same numbers, in every
// architecture that reads text.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/train/outlier_probe.h"
#include "tests/core/models/test_models.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

constexpr std::int64_t kLengths[] = {8, 5, 3};

// All numbers that a probe reports, by name and site.
std::map<std::string, double> Reported(const OutlierProbe& probe) {
  CollectingSink sink;
  MeasurementReporter reporter(ReportKind::kResult, 0, sink);
  ReportOutliers(probe.Report(), reporter);
  std::map<std::string, double> numbers;
  for (const v1::MeasurementPoint& point : sink.measurements)
    numbers[point.name() + " " + point.site()] = point.value();
  return numbers;
}

class PaddingTest : public testing::TestWithParam<const char*> {
 protected:
  PaddingTest()
      : spec_(SmallSpec(GetParam(), "softmax { clipped { gamma: -0.1 } } gate { linear {} }")),
        model_(SmallModel(spec_)) {
    model_->to(at::kDouble);
    // Large enough for outliers, zeros and sinks.
    for (at::Tensor& parameter : model_->parameters()) parameter.detach().mul_(4);
    padded_ = SmallInput(3, 8);
    padded_.attention_mask = torch::zeros({3, 8}, torch::kLong);
    for (int i = 0; i < 3; ++i) padded_.attention_mask[i].slice(0, 0, kLengths[i]).fill_(1);
  }

  OutlierProbe Probe(bool count_padding) const {
    v1::OutlierSpec options;
    options.set_count_padding(count_padding);
    return OutlierProbe(*model_, spec_.model().architecture_case(), 100, options);
  }
  ModelInput Alone(int sequence) const {
    ModelInput input;
    input.ids = padded_.ids.slice(0, sequence, sequence + 1).slice(1, 0, kLengths[sequence]);
    return input;
  }

  const v1::TrialSpec spec_;
  const std::shared_ptr<LanguageModel> model_;
  ModelInput padded_;
};

TEST_P(PaddingTest, NoNumberDependsOnThePadding) {
  const torch::NoGradGuard no_grad;
  OutlierProbe together = Probe(false), alone = Probe(false);
  TapChain chain(together.taps());
  model_->Observe(padded_, chain);
  // Positions are counted over sequences of one length: theirs are compared by their sum.
  std::map<std::string, double> six_sigma;
  for (int sequence = 0; sequence < 3; ++sequence) {
    TapChain one({alone.taps()[0], alone.taps()[1], alone.taps()[3]});
    model_->Observe(Alone(sequence), one);
    SixSigmaRecorder counts;
    model_->Observe(Alone(sequence), counts);
    for (const SixSigmaSite& site : counts.Sites())
      six_sigma["ffn_six_sigma_count " + site.site] += site.mean_count / 3;
  }
  std::map<std::string, double> expected = Reported(alone);
  expected.insert(six_sigma.begin(), six_sigma.end());
  const std::map<std::string, double> actual = Reported(together);
  EXPECT_EQ(actual.size(), expected.size());
  EXPECT_GT(actual.size(), 40u);
  for (const auto& [name, number] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_NEAR(actual.at(name), number, 1e-9 * std::max(1.0, std::abs(number))) << name;
  }
}

// By the reference's counting, and for sequences that have none, padding changes nothing of what was measured before.
TEST_P(PaddingTest, CountedPaddingIsMeasuredLikeText) {
  const torch::NoGradGuard no_grad;
  OutlierProbe counting = Probe(true), leaving_out = Probe(false);
  for (OutlierProbe* probe : {&counting, &leaving_out}) {
    TapChain chain(probe->taps());
    model_->Observe(padded_, chain);
  }
  const std::map<std::string, double> with = Reported(counting), without = Reported(leaving_out);
  for (const char* name : {"avg_kurtosis ", "kurtosis_all ", "first_key_mass ", "attention_zero_share "})
    EXPECT_NE(with.at(name), without.at(name)) << name;
  EXPECT_GT(with.at("attention_zero_share "), without.at("attention_zero_share ")) << "masked keys are zeros";

  OutlierProbe full = Probe(false), untold = Probe(true);
  ModelInput text = padded_;
  text.attention_mask = torch::ones_like(padded_.attention_mask);
  for (OutlierProbe* probe : {&full, &untold}) {
    TapChain chain(probe->taps());
    model_->Observe(text, chain);
  }
  EXPECT_EQ(Reported(full), Reported(untold)) << "bit by bit";
}

INSTANTIATE_TEST_SUITE_P(Architectures, PaddingTest, testing::ValuesIn(kArchitectures),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace inlier
