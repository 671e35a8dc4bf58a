// A model that the bucket has lost: workers with artifacts of their own are asked for a copy until the one that missed it has loaded one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LostModelTest : public testing::Test {
 protected:
  void SetUp() override {
    maker_.fields().set_keeps_artifacts(true);
    loader_.fields().set_keeps_artifacts(true);
    harness_.Submit(SmallSweep("s", 1, {8, 4}));
    harness_.Sync(maker_);
    maker_.Finish(1);
    maker_.fields().set_draining(true);  // It evaluates nothing.
    harness_.Sync(maker_);
    // Past the wait for the worker that trained.
    harness_.TickAfter(std::chrono::seconds(3));
  }
  // The attempt that `loader` has ends without the model; its digest.
  std::string Lose(bool lost = true) {
    harness_.Sync(loader_);
    const auto [token, assignment] = *loader_.running().begin();
    v1::TrialEvent event = FailureEvent(v1::LOST, "no such object");
    event.mutable_outcome()->set_model_is_lost(lost);
    harness_.Report(loader_, token, event);
    return assignment.checkpoint_sha256();
  }
  std::vector<std::string> Wanted(HandWorker& worker) {
    const v1::CoordinatorSync answer = harness_.Sync(worker);
    return {answer.wanted_artifacts().begin(), answer.wanted_artifacts().end()};
  }

  Harness harness_;
  HandWorker maker_{"maker", 1}, loader_{"loader", 1};
};

TEST_F(LostModelTest, ItIsAskedForUntilTheWorkerThatMissedItHasLoadedIt) {
  EXPECT_THAT(Wanted(maker_), IsEmpty());
  const std::string model = Lose();
  EXPECT_EQ(model.size(), 64u);
  EXPECT_THAT(Wanted(maker_), ElementsAre(model));
  ASSERT_EQ(loader_.running().size(), 1u);  // Tried again at once.
  harness_.Finish(loader_, loader_.running().begin()->first);
  EXPECT_THAT(Wanted(maker_), IsEmpty());
}

TEST_F(LostModelTest, AResultOfAWorkerThatMayHaveACopyIsNoProofOfTheBucket) {
  const std::string model = Lose();
  HandWorker other("other", 1);
  other.fields().set_keeps_artifacts(true);
  harness_.Sync(other);
  ASSERT_EQ(other.running().size(), 1u);
  harness_.Finish(other, other.running().begin()->first);
  EXPECT_THAT(Wanted(maker_), ElementsAre(model));
}

TEST_F(LostModelTest, AWorkerThatSharesTheFolderIsNotAsked) {
  Lose();
  HandWorker sharing("sharing", 1);
  EXPECT_THAT(Wanted(sharing), IsEmpty());
}

TEST_F(LostModelTest, AnotherFailureAsksForNothing) {
  Lose(/*lost=*/false);
  EXPECT_THAT(Wanted(maker_), IsEmpty());
}

TEST_F(LostModelTest, TheQuestionEndsAfterTenMinutes) {
  const std::string model = Lose();
  EXPECT_THAT(Wanted(maker_), ElementsAre(model));
  harness_.TickAfter(std::chrono::minutes(11));
  EXPECT_THAT(Wanted(maker_), IsEmpty());
}

}  // namespace
}  // namespace inlier
