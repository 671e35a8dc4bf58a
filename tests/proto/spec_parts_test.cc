#include "proto/spec/spec_parts.h"

#include <gtest/gtest.h>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

constexpr std::size_t kModel = 0, kTraining = 3, kQuantization = 4;

TEST(SpecPartsTest, GroupsAreTakenOutAndTheRestStaysAnObject) {
  const std::string json =
      R"({"revision":1,"seed":7,"model":{"bert":{"layers":2}},"norm":"LAYER_NORM","training":{"a":[1,{"b":2}],"c":"},{\"\\"}})";
  const SpecParts parts = SplitSpec(json);
  EXPECT_EQ(parts.rest, R"({"revision":1,"seed":7,"norm":"LAYER_NORM"})");
  EXPECT_EQ(parts.groups[kModel], R"({"bert":{"layers":2}})");
  EXPECT_EQ(parts.groups[kTraining], R"({"a":[1,{"b":2}],"c":"},{\"\\"})");
  EXPECT_EQ(parts.groups[kQuantization], "");
}

TEST(SpecPartsTest, AGroupThatIsNoObjectStays) {
  const SpecParts parts = SplitSpec(R"({"model":3,"training":{}})");
  EXPECT_EQ(parts.rest, R"({"model":3})");
  EXPECT_EQ(parts.groups[kTraining], "{}");
}

TEST(SpecPartsTest, WhatIsNotCompactOrNoObjectIsKeptWhole) {
  for (const char* json : {"", "[]", "{", R"({"model":{})", R"({ "model":{}})", R"({"model" :{}})",
                           R"({"a":1} )", R"({"a":"open)", R"("text")", R"({"a":1,})", R"({"model":{}}})"}) {
    const SpecParts parts = SplitSpec(json);
    EXPECT_EQ(parts.rest, json);
    for (const std::string_view group : parts.groups) EXPECT_EQ(group, "") << json;
  }
  EXPECT_EQ(SplitSpec("{}").rest, "{}");
}

TEST(SpecPartsTest, ThePackedRestIsTheSpecificationWithoutItsGroups) {
  v1::TrialSpec spec;
  spec.set_seed(7);
  spec.set_dropout(0.5);
  spec.mutable_model()->mutable_bert()->set_layers(2);
  spec.mutable_training()->set_steps(3);
  v1::TrialSpec rest;
  rest.set_seed(7);
  rest.set_dropout(0.5);
  EXPECT_EQ(PackedRest(spec.SerializeAsString()), rest.SerializeAsString());
  EXPECT_EQ(PackedRest(""), "");
  EXPECT_EQ(PackedRest("\xff\xff"), "");
}

}  // namespace
}  // namespace inlier
