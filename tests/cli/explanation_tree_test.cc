#include "cli/explanation_tree.h"

#include "gtest/gtest.h"
#include "tests/cli/parse.h"

namespace inlier {
namespace {

TEST(ExplanationTreeTest, CausesAreBelowAndIndented) {
  EXPECT_EQ(ExplanationTree(Parse<v1::Explanation>(R"(
    text: 'trial t-2' state: 'PENDING'
    because { text: 'train stage st-3' state: 'PENDING'
              because { text: 'the sweep is paused' } because { text: 'all 8 slots are busy' } }
    because { text: 'attempt 1 crashed' })")),
            "trial t-2: PENDING\n"
            "├─ train stage st-3\n"
            "│  ├─ the sweep is paused\n"
            "│  └─ all 8 slots are busy\n"
            "└─ attempt 1 crashed\n");
}

TEST(ExplanationTreeTest, StatesAreWordsAndNotRepeated) {
  auto sweep = Parse<v1::Explanation>("text: 'sweep s-2 (broken)' state: 'SWEEP_CANCELLED'");
  EXPECT_EQ(ExplanationTree(sweep), "sweep s-2 (broken): cancelled\n");
  sweep.set_state("STOPPED_BY_FAILURES");
  EXPECT_EQ(ExplanationTree(sweep), "sweep s-2 (broken): stopped by failures\n");
  EXPECT_EQ(ExplanationTree(Parse<v1::Explanation>(R"(
    text: 'trial t-1' state: 'RUNNING'
    because { text: 'train stage st-1' state: 'RUNNING'
              because { text: 'attempt 2 runs on worker vm, slot 0' state: 'RUNNING' } }
    because { text: 'attempt 1 ended' state: 'PREEMPTED' })")),
            "trial t-1: RUNNING\n"
            "├─ train stage st-1\n"
            "│  └─ attempt 2 runs on worker vm, slot 0\n"
            "└─ attempt 1 ended: PREEMPTED\n");
}

TEST(ExplanationTreeTest, LinesOfAMessageStayInTheTreeAndNothingControlsTheTerminal) {
  EXPECT_EQ(ExplanationTree(Parse<v1::Explanation>(R"(
    text: 'trial t-2 (path=\x1b[2J)' because { text: 'it failed: one\ntwo' }
    because { text: 'three\nfour' state: 'FAILED' })")),
            "trial t-2 (path=\\x1b[2J)\n"
            "├─ it failed: one\n"
            "│    two\n"
            "└─ three\n"
            "     four: FAILED\n");
}

}  // namespace
}  // namespace inlier
