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
            "├─ train stage st-3: PENDING\n"
            "│  ├─ the sweep is paused\n"
            "│  └─ all 8 slots are busy\n"
            "└─ attempt 1 crashed\n");
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
