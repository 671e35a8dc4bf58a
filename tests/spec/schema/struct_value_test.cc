#include "spec/schema/struct_value.h"

#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

google::protobuf::Struct StructFrom(const std::string& json) {
  google::protobuf::Struct result;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &result).ok()) << json;
  return result;
}

std::string ApplyError(const std::string& json) {
  v1::TrialSpec spec;
  Problems problems;
  ApplyStruct(StructFrom(json), "set", &spec, &problems);
  return problems.empty() ? "OK" : std::string(problems.ToStatus().message());
}

TEST(StructValueTest, AMessageComesBackAsItWas) {
  const v1::TrialSpec spec = TrialFrom(
      "{seed: 3, attention: {softmax: {clipped: {gamma: -0.03}}, gate: {linear: {}, pooled: true}}, "
      "training: {steps: 10, precision: BFLOAT16}, "
      "data: {text: {corpus: kjv}}}");
  v1::TrialSpec back;
  Problems problems;
  ApplyStruct(MessageToStruct(spec), "", &back, &problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(spec, back)) << back.DebugString();
}

TEST(StructValueTest, APartialSpecReplacesLeavesAndMembers) {
  v1::TrialSpec spec = TrialFrom("{attention: {dropout: 0.1, softmax: {vanilla: {}}}, seed: 4}");
  Problems problems;
  ApplyStruct(StructFrom(R"({"attention.softmax.clipped.alpha": 2, "seed": 5})"), "set", &spec, &problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(spec.ShortDebugString(), "seed: 5 attention { softmax { clipped { alpha: 2 } } dropout: 0.1 }");
}

TEST(StructValueTest, MistakesCarryTheirPath) {
  EXPECT_EQ(ApplyError(R"({"trainin": {"steps": 1}})"),
            "set.trainin: unknown field; did you mean \"training\"?");
  EXPECT_EQ(ApplyError(R"({"training": {"steps": "x", "batch_size": null}})"),
            "set.training.steps: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4");
  EXPECT_EQ(ApplyError(R"({"training": 5})"),
            "set.training: is a group of fields; give a mapping such as {} or {steps: ...}");
  EXPECT_EQ(
      ApplyError(R"({"attention.softmax": {"clipped": {"gamma": 0, "alpha": 1}}})"),
      "set.attention.softmax.clipped.gamma: alpha is given and the two exclude each other: give one of them");
  EXPECT_EQ(ApplyError(R"({"seed": 1, "training": {"steps": 2}, "training.steps": 3})"),
            "set.training.steps: is given twice: remove one");
}

}  // namespace
}  // namespace inlier
