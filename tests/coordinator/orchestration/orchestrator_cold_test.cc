// What has ended leaves memory, and nobody can tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/coordinator/orchestration/harness.h"

namespace inlier {
namespace {

constexpr int kSweeps = 300;

class OrchestratorColdTest : public testing::Test {
 protected:
  // Sweeps of one training and two evaluations: the second is cancelled, the others run to their end.
  OrchestratorColdTest() {
    harness_.SkipInvariants();
    for (int i = 1; i <= kSweeps; ++i) {
      const SweepId sweep = harness_.Submit(Numbered(i));
      if (i == 2) harness_.CancelSweep(sweep);
    }
    RunAll(harness_, worker_);
    EXPECT_EQ(harness_.Status(SweepId(1)).state(), v1::COMPLETE);
    EXPECT_EQ(harness_.Status(SweepId(2)).state(), v1::SWEEP_CANCELLED);
    before_ = harness_.orchestrator().DurableState();
  }

  static v1::SweepSpec Numbered(int number) {
    v1::SweepSpec sweep = SmallSweep("s" + std::to_string(number), 1, {4, 8});
    sweep.mutable_base()->mutable_training()->set_steps(static_cast<std::uint64_t>(100 + number));
    return sweep;
  }
  std::string State() { return harness_.orchestrator().DurableState(); }

  Harness harness_;
  HandWorker worker_{"w", 64};
  std::string before_;
};

TEST_F(OrchestratorColdTest, NothingChangesByIt) {
  // The full parts, 256 each, of 600 trials, 900 stages, 300 sweeps and the trained models among 900 stages.
  EXPECT_GE(harness_.Cool(), 2u + 3u + 1u + 3u);
  EXPECT_GT(harness_.orchestrator().cold().cooled_bytes(), 130'000u);
  EXPECT_EQ(State(), before_);
  harness_.orchestrator().CheckInvariants();
  EXPECT_EQ(harness_.orchestrator().ListSweeps({})->sweeps(99).name(), "s201");
  EXPECT_EQ(*harness_.orchestrator().FindSweep("s17"), SweepId(17));
  v1::ExplainRequest request;
  request.set_trial("t-3");
  EXPECT_TRUE(harness_.orchestrator().Explain(request, harness_.now()).ok());
  harness_.Restart();
}

TEST_F(OrchestratorColdTest, WhatIsKnownIsFoundAndNotRunAgain) {
  harness_.Cool();
  v1::SweepSpec again = Numbered(5);
  again.set_name("again");
  const auto answer = harness_.TrySubmit(again);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->trials_known(), 2u);
  // A new evaluation of an old training: the trained model is used.
  v1::SweepSpec more = SmallSweep("more", 1, {4, 6, 8});
  more.mutable_base()->mutable_training()->set_steps(106);
  const auto known = harness_.TrySubmit(more);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->trials_known(), 2u);
  EXPECT_EQ(RunAll(harness_, worker_), 1u);
  harness_.orchestrator().CheckInvariants();
  harness_.Restart();
}

TEST_F(OrchestratorColdTest, WhatIsOldIsTriedAgainAndEdited) {
  harness_.Cool();
  EXPECT_EQ(harness_.RetrySweep(SweepId(2)), 2u);
  v1::EditSweepRequest edit;
  edit.set_sweep("s9");
  *edit.mutable_spec() = SmallSweep("s9", 2, {4, 8});
  edit.mutable_spec()->mutable_base()->mutable_training()->set_steps(109);
  const auto edited = harness_.Ask(&Orchestrator::OnEdit, edit);
  ASSERT_TRUE(edited.ok()) << edited.status();
  harness_.orchestrator().CheckInvariants();
  harness_.Cool();
  EXPECT_EQ(RunAll(harness_, worker_), 6u);
  harness_.Cool();
  harness_.orchestrator().CheckInvariants();
  EXPECT_EQ(harness_.Status(SweepId(2)).state(), v1::COMPLETE);
  EXPECT_EQ(harness_.Status(SweepId(9)).trials().succeeded(), 4u);
  harness_.Restart();
}

TEST_F(OrchestratorColdTest, WhatChangesWhileItIsWrittenIsKept) {
  std::string changed;
  harness_.Cool([&] {
    EXPECT_EQ(harness_.RetrySweep(SweepId(2)), 2u);
    changed = State();
    EXPECT_NE(changed, before_);
  });
  EXPECT_EQ(State(), changed);
  harness_.orchestrator().CheckInvariants();
  EXPECT_EQ(RunAll(harness_, worker_), 3u);
  harness_.Restart();
  // Also what a restart has read.
  harness_.SkipInvariants();
  const std::string after = State();
  EXPECT_GE(harness_.Cool(), 9u);
  EXPECT_EQ(State(), after);
}

}  // namespace
}  // namespace inlier
