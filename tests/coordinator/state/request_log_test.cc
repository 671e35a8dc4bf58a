#include "coordinator/state/request_log.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {
namespace {

std::string Answer(std::uint64_t cancelled) {
  v1::CancelResponse answer;
  answer.set_cancelled(cancelled);
  return answer.SerializeAsString();
}

TEST(RequestLogTest, RemembersTheAnswerUnderItsId) {
  RequestLog log;
  EXPECT_EQ(log.Find("a"), nullptr);
  const RequestRow row = log.Add("a", "Cancel", "digest", Answer(3), {5});
  EXPECT_EQ(row.number, 1u);
  ASSERT_NE(log.Find("a"), nullptr);
  EXPECT_EQ(log.Find("a")->answer, Answer(3));
  EXPECT_EQ(log.Find("a")->digest, "digest");
}

TEST(RequestLogTest, KeepsTheLatestAndForgetsTheOldest) {
  RequestLog log;
  for (std::uint64_t i = 1; i <= kRequestsKept + 2; ++i)
    log.Add(absl::StrCat("id-", i), "Cancel", "d", Answer(i), {});
  EXPECT_EQ(log.size(), kRequestsKept);
  EXPECT_EQ(log.Find("id-1"), nullptr);
  EXPECT_EQ(log.Find("id-2"), nullptr);
  EXPECT_NE(log.Find("id-3"), nullptr);
}

TEST(RequestLogTest, ContinuesAfterTheRestoredRows) {
  RequestLog log;
  log.Remember({.number = 41, .id = "old", .method = "Retry", .digest = "d", .answer = "", .at = {}});
  EXPECT_EQ(log.Add("new", "Cancel", "d", Answer(1), {}).number, 42u);
  EXPECT_NE(log.Find("old"), nullptr);
}

TEST(RequestLogTest, DigestDoesNotDependOnTheOrderInWhichAMapWasFilled) {
  v1::SweepSpec forward, backward;
  v1::Axis& first = *forward.add_axes();
  v1::Axis& second = *backward.add_axes();
  for (int i = 0; i < 20; ++i) (*first.mutable_when())[absl::StrCat("axis", i)].set_number_value(i);
  for (int i = 19; i >= 0; --i) (*second.mutable_when())[absl::StrCat("axis", i)].set_number_value(i);
  EXPECT_EQ(ContentDigest(forward), ContentDigest(backward));
  (*second.mutable_when())["axis3"].set_number_value(4);
  EXPECT_NE(ContentDigest(forward), ContentDigest(backward));
}

}  // namespace
}  // namespace inlier
