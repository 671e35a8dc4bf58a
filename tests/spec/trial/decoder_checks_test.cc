#include "spec/trial/checks/decoder_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

TEST(DecoderChecksTest, PartsOfDecodersThatDoNotFitTogetherAreRefused) {
  const std::string data = "data: {text: {corpus: kjv}}, training: {steps: 9}}";
  const auto error_of = [&data](const std::string& fields, const std::string& more = "") {
    return std::string(
        ResolveAndValidate(TrialFrom("{model: {llama: {preset: tiny, " + fields + "}}, " + more + data))
            .status()
            .message());
  };
  EXPECT_EQ(error_of("head_size: 6, hidden_size: 100, heads: 3, window: 4, window_period: 2"), "");
  EXPECT_EQ(error_of("rotary_scaling: {yarn: {factor: 4, original_positions: 64}}"), "");
  const struct {
    const char *fields, *more, *begin;
  } cases[] = {
      {"head_size: 6", "attention: {gate: {linear: {}}}, ",
       "model.llama.head_size: 6 is not hidden_size / heads"},
      {"head_size: 7", "", "model.llama.head_size: ROTARY turns pairs of features, and 7"},
      {"rotary_share: 0.3", "", "model.llama.rotary_share: ROTARY turns pairs of features, and 9"},
      {"position: NONE, rotary_scaling: {linear: {factor: 2}}", "",
       "model.llama.rotary_scaling: has no effect"},
      {"position: NONE, rotary_share: 0.5", "", "model.llama.rotary_share: has no effect"},
      {"rotary_scaling: {linear: {}}", "", "model.llama.rotary_scaling.linear.factor: is missing"},
      {"rotary_scaling: {llama3: {factor: 2, original_positions: 8, low_factor: 4}}", "",
       "model.llama.rotary_scaling.llama3.high_factor: 4 is not more than low_factor 4"},
      {"window_period: 2", "", "model.llama.window_period: has no effect without model.llama.window"},
      {"window: 4, window_from: 4", "", "model.llama.window_from: 4 is behind the last layer"},
      {"window: 4", "attention: {prefix_tokens: 2}, ",
       "model.llama.window: is not defined with attention.prefix_tokens"},
      {"window: 4", "attention: {softmax: {sigmoid: {}}}, ",
       "model.llama.window: changes the number of keys"},
      {"parallel: true, norm_placement: PERI", "",
       "model.llama.parallel: both halves read the layer's input"}};
  for (const auto& [fields, more, begin] : cases)
    EXPECT_THAT(error_of(fields, more), ::testing::StartsWith(begin)) << fields;
}

}  // namespace
}  // namespace inlier
