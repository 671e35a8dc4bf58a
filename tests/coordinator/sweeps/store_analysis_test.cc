// A measurement of a model of a person is stored once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

v1::StoreAnalysisRequest SomeAnalysis(const std::string& request_id = "") {
  v1::StoreAnalysisRequest request;
  if (!request_id.empty()) request.set_request_id(request_id);
  request.set_model("org/name");
  request.set_spec_json("{}");
  const auto add = [&request](const char* setting, const char* name, const char* site, double value) {
    v1::AnalysisNumber& number = *request.add_numbers();
    number.set_setting(setting);
    number.set_name(name);
    number.set_site(site);
    number.set_value(value);
  };
  add("float", "max_inf_norm", "", 185.25);
  add("float", "inf_norm", "layer.0", 3.5);
  add("W8A8", "max_inf_norm", "", 180.5);
  add("W8A8", "hidden_change", "", std::numeric_limits<double>::quiet_NaN());
  return request;
}

using OrchestratorAnalysisTest = OneWorkerTest;

TEST_F(OrchestratorAnalysisTest, ARepeatedRequestGetsTheSameAnalysisAndAnotherOneTheNext) {
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("once")).value().analysis_id(), "a-1");
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("once"))->analysis_id(), "a-1");
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("twice"))->analysis_id(), "a-2");
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis())->analysis_id(), "a-3");
  v1::StoreAnalysisRequest other = SomeAnalysis("once");
  other.set_model("another");
  EXPECT_EQ(harness.Ask(&StoreAnalysis, other).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(OrchestratorAnalysisTest, NumbersGoOnAfterARestart) {
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("before"))->analysis_id(), "a-1");
  harness.Restart();
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("before"))->analysis_id(), "a-1");
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis("after"))->analysis_id(), "a-2");
}

TEST_F(OrchestratorAnalysisTest, AnAnalysisWithoutAModelOrNumbersIsRefused) {
  const auto error = [this](const v1::StoreAnalysisRequest& request) {
    return std::string(harness.Ask(&StoreAnalysis, request).status().message());
  };
  v1::StoreAnalysisRequest request = SomeAnalysis();
  request.clear_model();
  EXPECT_THAT(error(request), HasSubstr("model: is missing"));
  request = SomeAnalysis();
  request.clear_numbers();
  EXPECT_THAT(error(request), HasSubstr("numbers: are missing"));
  request = SomeAnalysis();
  *request.add_numbers() = request.numbers(1);
  EXPECT_THAT(error(request), HasSubstr("float has inf_norm of layer.0 twice"));
  request.mutable_numbers()->rbegin()->clear_setting();
  EXPECT_THAT(error(request), HasSubstr("no setting or no name"));
  EXPECT_EQ(harness.Ask(&StoreAnalysis, SomeAnalysis())->analysis_id(), "a-1") << "none was stored";
}

}  // namespace
}  // namespace inlier
