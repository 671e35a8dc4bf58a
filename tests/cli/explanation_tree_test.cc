#include "cli/explanation_tree.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(ExplanationTreeTest, CausesAreBelowAndIndented) {
  v1::Explanation trial;
  trial.set_text("trial t-2");
  trial.set_state("PENDING");
  v1::Explanation& stage = *trial.add_because();
  stage.set_text("train stage st-3");
  stage.set_state("PENDING");
  stage.add_because()->set_text("the sweep is paused");
  stage.add_because()->set_text("all 8 slots are busy");
  trial.add_because()->set_text("attempt 1 crashed");
  EXPECT_EQ(ExplanationTree(trial),
            "trial t-2: PENDING\n"
            "├─ train stage st-3\n"
            "│  ├─ the sweep is paused\n"
            "│  └─ all 8 slots are busy\n"
            "└─ attempt 1 crashed\n");
}

TEST(ExplanationTreeTest, StatesAreWordsAndNotRepeated) {
  v1::Explanation sweep;
  sweep.set_text("sweep s-2 (broken)");
  sweep.set_state("SWEEP_CANCELLED");
  EXPECT_EQ(ExplanationTree(sweep), "sweep s-2 (broken): cancelled\n");
  sweep.set_state("STOPPED_BY_FAILURES");
  EXPECT_EQ(ExplanationTree(sweep), "sweep s-2 (broken): stopped by failures\n");
  v1::Explanation trial;
  trial.set_text("trial t-1");
  trial.set_state("RUNNING");
  v1::Explanation& stage = *trial.add_because();
  stage.set_text("train stage st-1");
  stage.set_state("RUNNING");
  stage.add_because()->set_text("attempt 2 runs on worker vm, slot 0");
  stage.mutable_because(0)->set_state("RUNNING");
  v1::Explanation& past = *trial.add_because();
  past.set_text("attempt 1 ended");
  past.set_state("PREEMPTED");
  EXPECT_EQ(ExplanationTree(trial),
            "trial t-1: RUNNING\n"
            "├─ train stage st-1\n"
            "│  └─ attempt 2 runs on worker vm, slot 0\n"
            "└─ attempt 1 ended: PREEMPTED\n");
}

TEST(ExplanationTreeTest, LinesOfAMessageStayInTheTreeAndNothingControlsTheTerminal) {
  v1::Explanation trial;
  trial.set_text("trial t-2 (path=\x1b[2J)");
  trial.add_because()->set_text("it failed: one\ntwo");
  v1::Explanation& last = *trial.add_because();
  last.set_text("three\nfour");
  last.set_state("FAILED");
  EXPECT_EQ(ExplanationTree(trial),
            "trial t-2 (path=\\x1b[2J)\n"
            "├─ it failed: one\n"
            "│    two\n"
            "└─ three\n"
            "     four: FAILED\n");
}

}  // namespace
}  // namespace inlier
