// `inlier why SWEEP`: the reasons of its trials, each once, with how many have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Runs everything to its end; the trainings fail, every third one for another reason.
void FailAll(Harness& harness) {
  HandWorker worker("w", 4);
  int failed = 0;
  for (int round = 0; round < 20; ++round) {
    harness.Sync(worker);
    const std::vector<Token> tokens = worker.tokens();
    for (const Token token : tokens)
      worker.Emit(token,
                  FailureEvent(v1::INVALID_SPEC, ++failed % 3 == 0 ? "no such corpus" : "too few heads"));
  }
}

using WhySweepTest = OneWorkerTest;

TEST_F(WhySweepTest, AnEndedSweepHasTheReasonsOfItsFailedTrials) {
  sweep = harness.Submit(SmallSweep("s", 6));
  FailAll(harness);
  EXPECT_THAT(harness.Why(sweep),
              AllOf(HasSubstr("state: \"FAILED\""), HasSubstr("6 trials: 6 ended"),
                    HasSubstr("4 trials FAILED, for example t-1: "), HasSubstr("too few heads"),
                    HasSubstr("2 trials FAILED, for example t-3: "), HasSubstr("no such corpus"),
                    Not(HasSubstr("further reason"))));
}

TEST_F(WhySweepTest, ARequestThatNoWorkerCouldEverMeetIsNamedWithItsTrials) {
  v1::SweepSpec spec = SmallSweep("s", 3);
  spec.mutable_resources()->set_gpus(2);
  sweep = harness.Submit(spec);
  EXPECT_THAT(harness.Why(sweep), HasSubstr("no worker is connected"));
  harness.Sync(worker);
  EXPECT_THAT(
      harness.Why(sweep),
      AllOf(HasSubstr("3 trials wait, for example t-1: no registered worker could ever run this: it needs"),
            HasSubstr("none has a GPU")));
}

}  // namespace
}  // namespace inlier
