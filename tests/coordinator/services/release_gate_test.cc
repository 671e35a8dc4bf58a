// When a reply may leave, batch by batch.
#include "coordinator/services/release_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ReleaseGateTest : public ::testing::Test {
 protected:
  static Effects Control(std::set<std::string> touched = {}) {
    Effects effects;
    effects.changes.Add(EventRow{});
    effects.workers = std::move(touched);
    return effects;
  }
  static Effects Bulk() {
    Effects effects;
    effects.changes.lane = Lane::kBulk;
    effects.changes.Add(EventRow{});
    return effects;
  }
  // A call of `worker` (empty: a person) whose reply is called `name`.
  std::uint64_t Call(const std::string& name, const Effects& effects, const std::string& worker = "") {
    return gate_.Decided(effects, worker.empty() ? nullptr : &worker, [this, name](absl::Status status) {
      left_.push_back(status.ok() ? name : name + ": " + std::string(status.message()));
    });
  }
  std::vector<std::string> Left() { return std::exchange(left_, {}); }
  void Settle(std::uint64_t number) { gate_.Settled(number, absl::OkStatus()); }

  ReleaseGate gate_;
  std::vector<std::string> left_;
};

TEST_F(ReleaseGateTest, PersonWaitsForEveryControlBatch) {
  const std::uint64_t first = Call("a", Control());
  EXPECT_EQ(Call("b", {}), 0u);
  EXPECT_THAT(Left(), IsEmpty());
  Settle(first);
  EXPECT_THAT(Left(), ElementsAre("a", "b"));
  Call("c", {});
  EXPECT_THAT(Left(), ElementsAre("c"));
}

TEST_F(ReleaseGateTest, WorkerWaitsOnlyForTheBatchesThatTouchIt) {
  const std::uint64_t other = Call("submit", Control());
  Call("idle", {}, "w-1");
  EXPECT_THAT(Left(), ElementsAre("idle"));
  const std::uint64_t cancel = Call("cancel", Control({"w-1"}));
  Call("answered", {}, "w-1");
  Call("elsewhere", {}, "w-2");
  EXPECT_THAT(Left(), ElementsAre("elsewhere"));
  Settle(other);
  EXPECT_THAT(Left(), ElementsAre("submit"));
  Settle(cancel);
  EXPECT_THAT(Left(), ElementsAre("cancel", "answered"));
}

TEST_F(ReleaseGateTest, BulkHoldsBackItsOwnReplyAndNoPersons) {
  const std::uint64_t bulk = Call("points", Bulk(), "w-1");
  Call("person", {});
  EXPECT_THAT(Left(), ElementsAre("person"));
  Settle(bulk);
  EXPECT_THAT(Left(), ElementsAre("points"));
}

// A worker that connects again sends the same events, and the answer acknowledges events that are not yet
// durable: it left at once, and a crash lost acknowledged events.
TEST_F(ReleaseGateTest, LaterReplyToTheSameWorkerWaitsForItsEarlierBulk) {
  const std::uint64_t bulk = Call("points", Bulk(), "w-1");
  Call("again", {}, "w-1");
  const std::uint64_t control = Call("joined", Control({"w-1"}), "w-1");
  Settle(control);
  EXPECT_THAT(Left(), IsEmpty());
  Settle(bulk);
  EXPECT_THAT(Left(), ElementsAre("points", "again", "joined"));
}

TEST_F(ReleaseGateTest, ReplyThatWaitsForBulkWaitsForControlToo) {
  const std::uint64_t control = Call("cancel", Control({"w-1"}));
  const std::uint64_t bulk = Call("points", Bulk(), "w-1");
  Settle(bulk);
  EXPECT_THAT(Left(), IsEmpty());
  Settle(control);
  EXPECT_THAT(Left(), ElementsAre("cancel", "points"));
}

// A full disk: users waited for half a minute, and heard that the coordinator may be overloaded.
TEST_F(ReleaseGateTest, WhileTheStoreWaitsUsersGetTheReasonAtOnceAndWorkersWait) {
  const std::uint64_t first = Call("submit", Control({"w-1"}));
  Call("answer", {}, "w-1");
  gate_.AfterAll([this](const absl::Status&) { left_.push_back("push"); });
  gate_.SetStoreWaits(absl::UnavailableError("full"));
  EXPECT_THAT(Left(), ElementsAre("submit: full"));
  Call("status", {});
  gate_.AfterAllForUser(
      [this](const absl::Status& status) { left_.push_back("look: " + std::string(status.message())); });
  EXPECT_THAT(Left(), ElementsAre("status: full", "look: full"));
  const std::uint64_t bulk = Call("points", Bulk(), "w-2");
  Settle(bulk);
  EXPECT_THAT(Left(), ElementsAre("points"));
  gate_.SetStoreWaits(absl::OkStatus());
  Call("later", {});
  EXPECT_THAT(Left(), IsEmpty());
  Settle(first);
  EXPECT_THAT(Left(), ElementsAre("answer", "push", "later"));
}

TEST_F(ReleaseGateTest, ReplyMayAskTheGateAgain) {
  const std::uint64_t first = gate_.Decided(Control(), nullptr, [this](const absl::Status&) {
    left_.push_back("a");
    gate_.AfterAll([this](const absl::Status&) { left_.push_back("b"); });
  });
  Settle(first);
  EXPECT_THAT(Left(), ElementsAre("a", "b"));
}

// Batches settle a while after they were decided; the gate is closed meanwhile in the last round.
TEST_F(ReleaseGateTest, EveryReplyLeavesOnceAndNotBeforeItsBatch) {
  constexpr std::uint64_t kBatches = 20'000, kBehind = 7;
  for (const bool closes : {false, true}) {
    ReleaseGate gate;
    std::uint64_t committed = 0, left = 0, early = 0, refused = 0;
    const auto settle = [&] {
      gate.Settled(++committed, absl::OkStatus());
      if (closes && committed == kBatches / 2) gate.Close(absl::UnavailableError("it ends"));
    };
    for (std::uint64_t number = 1; number <= kBatches; ++number) {
      const std::string worker = absl::StrCat("w-", number % 3);
      const auto leave = [&, number](const absl::Status& status) {
        ++left;
        if (!status.ok()) ++refused;
        if (status.ok() && committed < number) ++early;
      };
      const Effects effects = number % 2 == 0 ? Bulk() : Control({worker});
      ASSERT_EQ(gate.Decided(effects, &worker, leave), number);
      if (number > kBehind) settle();
    }
    while (committed < kBatches) settle();
    EXPECT_EQ(left, kBatches);
    EXPECT_EQ(early, 0u);
    EXPECT_EQ(refused > 0, closes);
  }
}

TEST_F(ReleaseGateTest, AFailedCommitEndsAllReplies) {
  const std::uint64_t first = Call("a", Control());
  Call("b", Bulk(), "w-1");
  gate_.Settled(first, absl::DataLossError("disk"));
  EXPECT_THAT(Left(), ::testing::UnorderedElementsAre("a: disk", "b: disk"));
  Call("c", {});
  EXPECT_FALSE(gate_.Close(absl::UnavailableError("another reason")));
  EXPECT_THAT(Left(), ElementsAre("c: disk"));
}

}  // namespace
}  // namespace inlier
