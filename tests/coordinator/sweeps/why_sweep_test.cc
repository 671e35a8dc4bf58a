// `inlier why SWEEP`: the reasons of its trials, each once, with how many have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "coordinator/status/explain.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string WhySweep(Harness& harness, SweepId sweep) {
  v1::ExplainRequest request;
  request.set_sweep(sweep.ToString());
  const auto explanation = Explain(harness.orchestrator().state(), request, harness.now());
  EXPECT_TRUE(explanation.ok()) << explanation.status();
  return explanation.ok() ? explanation->DebugString() : "";
}

// Runs everything to its end; the trainings fail, every third one for another reason.
void FailAll(Harness& harness) {
  HandWorker worker("w", 4);
  int failed = 0;
  for (int round = 0; round < 20; ++round) {
    harness.Sync(worker);
    std::vector<Token> tokens;
    for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
    for (const Token token : tokens)
      worker.Emit(token,
                  FailureEvent(v1::INVALID_SPEC, ++failed % 3 == 0 ? "no such corpus" : "too few heads"));
  }
}

TEST(WhySweepTest, AnEndedSweepHasTheReasonsOfItsFailedTrials) {
  Harness harness;
  const SweepId sweep = harness.Submit(SmallSweep("s", 6));
  FailAll(harness);
  EXPECT_THAT(WhySweep(harness, sweep),
              AllOf(HasSubstr("state: \"FAILED\""), HasSubstr("6 trials: 6 ended"),
                    HasSubstr("4 trials FAILED, for example t-1: "), HasSubstr("too few heads"),
                    HasSubstr("2 trials FAILED, for example t-3: "), HasSubstr("no such corpus"),
                    Not(HasSubstr("further reason"))));
}

TEST(WhySweepTest, ARequestThatNoWorkerCouldEverMeetIsNamedWithItsTrials) {
  Harness harness;
  v1::SweepSpec spec = SmallSweep("s", 3);
  spec.mutable_resources()->set_gpus(2);
  const SweepId sweep = harness.Submit(spec);
  EXPECT_THAT(WhySweep(harness, sweep), HasSubstr("no worker is connected"));
  HandWorker worker("w", 1);
  harness.Sync(worker);
  EXPECT_THAT(
      WhySweep(harness, sweep),
      AllOf(HasSubstr("3 trials wait, for example t-1: no registered worker could ever run this: it needs"),
            HasSubstr("none has a GPU")));
}

}  // namespace
}  // namespace inlier
