#include "coordinator/sweeps/label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LabelTest : public testing::Test {
 protected:
  absl::StatusOr<v1::LabelSweepResponse> Label(const v1::LabelSweepRequest& request) {
    return harness_.Ask(&LabelSweep, request);
  }
  absl::StatusOr<v1::LabelSweepResponse> Tag(SweepId sweep, std::vector<std::string> on,
                                             std::vector<std::string> off = {}) {
    auto request = OfSweep<v1::LabelSweepRequest>(sweep);
    *request.mutable_add_tags() = {on.begin(), on.end()};
    *request.mutable_remove_tags() = {off.begin(), off.end()};
    return Label(request);
  }
  std::vector<std::string> Listed(const v1::ListSweepsRequest& request = {}) {
    std::vector<std::string> names;
    const v1::ListSweepsResponse list = ListSweeps(harness_.state(), request, harness_.now().at).value();
    for (const v1::SweepStatus& sweep : list.sweeps()) names.push_back(sweep.name());
    return names;
  }

  Harness harness_;
  const SweepId a_ = harness_.Submit(SmallSweep("a", 1));
  const SweepId b_ = harness_.Submit(SmallSweep("b", 1));
};

TEST_F(LabelTest, TagsAreSetAndTakenOffAndSurviveARestart) {
  EXPECT_THAT(Tag(a_, {"paper", "draft"})->tags(), ElementsAre("draft", "paper"));
  EXPECT_THAT(Tag(a_, {"old"}, {"draft"})->tags(), ElementsAre("old", "paper"));
  EXPECT_FALSE(Tag(a_, {"old"})->changed());
  harness_.Restart();
  v1::ListSweepsRequest list;
  list.add_tags("paper");
  EXPECT_THAT(Listed(list), ElementsAre("a"));
  list.add_tags("draft");
  EXPECT_THAT(Listed(list), ElementsAre());
  EXPECT_EQ(harness_.Query("SELECT tags FROM sweep WHERE id = 1"), "[\"old\",\"paper\"]\n");
}

TEST_F(LabelTest, WhatCannotBeATagIsRefusedAndNothingChanges) {
  for (const std::string tag : {"", "two words", "a,b", "-x", "+x"})
    EXPECT_THAT(std::string(Tag(a_, {"good", tag}).status().message()), HasSubstr("cannot be a tag")) << tag;
  std::vector<std::string> many;
  for (int i = 0; i < 33; ++i) many.push_back(absl::StrCat("t", i));
  EXPECT_THAT(std::string(Tag(a_, many).status().message()), HasSubstr("33 tags; at most 32"));
  EXPECT_THAT(harness_.Status(a_).tags(), ElementsAre());
}

TEST_F(LabelTest, AnArchivedSweepIsInNoListUnlessAskedFor) {
  auto request = OfSweep<v1::LabelSweepRequest>(b_);
  request.set_archived(true);
  ASSERT_THAT(Label(request), IsOk());
  harness_.Restart();
  EXPECT_THAT(Listed(), ElementsAre("a"));
  v1::ListSweepsRequest all;
  all.set_all(true);
  EXPECT_THAT(Listed(all), ElementsAre("b", "a"));
  EXPECT_EQ(harness_.Status(b_).state(), v1::ACTIVE);  // It runs on.
}

TEST_F(LabelTest, TheTextOfAListIsLookedForInNameTagsAndNote) {
  auto request = OfSweep<v1::LabelSweepRequest>(a_);
  request.set_note("Seeds of the *Draft*");
  ASSERT_THAT(Label(request), IsOk());
  v1::ListSweepsRequest list;
  list.set_text("draft");
  EXPECT_THAT(Listed(list), ElementsAre("a"));
  ASSERT_THAT(Tag(b_, {"DRAFT-2"}), IsOk());
  EXPECT_THAT(Listed(list), ElementsAre("b", "a"));
}

TEST_F(LabelTest, ARenamedSweepHasItsNewNameEverywhere) {
  const SweepId newer = harness_.Submit(SmallSweep("a", 2));
  auto request = OfSweep<v1::LabelSweepRequest>("a");  // The newest.
  request.set_name("b");
  ASSERT_THAT(Label(request), IsOk());
  harness_.Restart();
  EXPECT_EQ(harness_.Status(newer, true).spec().name(), "b");
  EXPECT_EQ(FindSweep(harness_.state(), "b", "").value(), newer);
  EXPECT_EQ(FindSweep(harness_.state(), "a", "").value(), a_);  // The older one is found again.
  EXPECT_EQ(harness_.Query("SELECT name, spec->>'$.name' FROM sweep WHERE id = 3"), "b|b\n");
  for (const char* name : {"s-7", "", "../x", "-x"}) {
    request.set_sweep(newer.ToString());
    request.set_name(name);
    EXPECT_THAT(std::string(Label(request).status().message()), HasSubstr("cannot name a sweep")) << name;
  }
}

TEST_F(LabelTest, OnlyItsOwnerAndAdminsLabelASweep) {
  const SweepId hers = harness_.SubmitAs(Harness::Named("alice"), SmallSweep("c", 1));
  harness_.SetCaller(Harness::Named("bob"));
  EXPECT_EQ(Tag(hers, {"x"}).status().code(), absl::StatusCode::kPermissionDenied);
  harness_.SetCaller(Harness::Named("root", /*admin=*/true));
  EXPECT_THAT(Tag(hers, {"x"}), IsOk());
}

}  // namespace
}  // namespace inlier
