// Workers that listen are pushed work as soon as some is ready.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"
#include "tests/coordinator/scheduling/stream.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

using OrchestratorOfferTest = OneWorkerTest;

TEST_F(OrchestratorOfferTest, AListeningWorkerIsPushedReadyWorkWithoutARequest) {
  worker = HandWorker("w", 2);
  const v1::CoordinatorSync idle = SyncByStream(harness, worker);
  EXPECT_EQ(idle.next_sync_ms(), 5000u);  // A third of the lease's time; without a stream 200 ms.
  EXPECT_THAT(Offer(harness), IsEmpty());
  harness.Submit(SmallSweep("s", 1));
  const auto pushes = Offer(harness);
  ASSERT_THAT(pushes, ElementsAre(Key("w")));
  const v1::CoordinatorSync& push = pushes.at("w");
  EXPECT_TRUE(push.pushed());
  EXPECT_EQ(push.sync_id(), 1u);
  EXPECT_FALSE(push.has_acknowledged_sequence());
  EXPECT_FALSE(push.has_lease_ttl_ms());
  ASSERT_EQ(push.desired_size(), 1);
  EXPECT_EQ(push.desired(0).token(), 1u);
  EXPECT_THAT(Offer(harness), IsEmpty());  // Once.
  // Its next report is taken as after any lease.
  worker.Take(push);
  worker.Finish(1);
  const v1::CoordinatorSync reply = SyncByStream(harness, worker);
  EXPECT_EQ(reply.acknowledged_sequence(), 2u);
  ASSERT_EQ(reply.desired_size(), 1);
  EXPECT_EQ(reply.desired(0).kind(), v1::EVALUATE_STAGE);
}

TEST_F(OrchestratorOfferTest, WorkSpreadsOverThoseThatWaitTheLongestFirst) {
  HandWorker one("one", 2), two("two", 2);
  SyncByStream(harness, two);
  SyncByStream(harness, one);
  harness.Submit(SmallSweep("s", 3));
  auto pushes = Offer(harness);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes.at("two").desired_size(), 2);
  EXPECT_EQ(pushes.at("one").desired_size(), 1);
}

TEST_F(OrchestratorOfferTest, NothingIsPushedToThoseThatDoNotListenDrainOrAreFull) {
  HandWorker silent("silent", 1), draining("draining", 1), full("full", 1);
  harness.Submit(SmallSweep("before", 1));
  SyncByStream(harness, full);
  ASSERT_EQ(full.running().size(), 1u);
  draining.fields().set_draining(true);
  SyncByStream(harness, draining);
  SyncByStream(harness, silent);
  harness.TrySync(silent.Sync()).IgnoreError();  // Its answer is on its way.
  v1::SweepSpec after = SmallSweep("after", 2);
  after.mutable_base()->mutable_training()->set_steps(200);  // Other trainings.
  harness.Submit(after);
  EXPECT_THAT(Offer(harness), IsEmpty());
  harness.orchestrator().SetListening("silent", true);
  EXPECT_THAT(Offer(harness), ElementsAre(Key("silent")));
}

TEST_F(OrchestratorOfferTest, WithoutSpaceNothingIsLeasedAndWithSpaceItIs) {
  SyncByStream(harness, worker);
  harness.Submit(SmallSweep("s", 1));
  EXPECT_THAT(Offer(harness, /*grant_leases=*/false), IsEmpty());
  EXPECT_THAT(Offer(harness), ElementsAre(Key("w")));
}

TEST_F(OrchestratorOfferTest, ACancelIsPushedAtOnceWithItsReason) {
  sweep = harness.Submit(SmallSweep("s", 1));
  SyncByStream(harness, worker);
  ASSERT_EQ(worker.running().size(), 1u);
  v1::CancelRequest request;
  request.set_sweep(sweep.ToString());
  Effects effects;
  ASSERT_TRUE(harness.orchestrator().Change(&Cancel, request, harness.now(), effects).ok());
  harness.orchestrator().Offer(harness.now(), /*grant_leases=*/true, effects);
  ASSERT_THAT(effects.pushes, ElementsAre(Key("w")));
  const v1::CoordinatorSync push = effects.pushes.at("w");
  harness.Commit(std::move(effects));
  EXPECT_EQ(push.desired_size(), 0);
  ASSERT_EQ(push.stop_size(), 1);
  EXPECT_EQ(push.stop(0).token(), 1u);
  EXPECT_EQ(push.stop(0).reason(), "cancelled");
}

TEST_F(OrchestratorOfferTest, AWorkerThatFellSilentIsNotOfferedAnything) {
  SyncByStream(harness, worker);
  harness.TickAfter(std::chrono::seconds(17));
  harness.Submit(SmallSweep("s", 1));
  EXPECT_THAT(Offer(harness), IsEmpty());
}

}  // namespace
}  // namespace inlier
