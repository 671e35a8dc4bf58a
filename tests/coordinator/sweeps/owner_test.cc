// Whose sweep it is: who may change it, what becomes of stages that two owners share, and what each may ask for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Caller kAlice = Harness::Named("alice"), kBob = Harness::Named("bob"),
             kRoot = Harness::Named("root", /*admin=*/true);

v1::EditSweepRequest EditOf(SweepId sweep, const v1::SweepSpec& spec) {
  auto request = OfSweep<v1::EditSweepRequest>(sweep);
  *request.mutable_spec() = spec;
  return request;
}

// Every change of a sweep and of its trial, each as often as it is asked for; the code of each answer.
std::vector<absl::StatusCode> ChangeAll(Harness& harness, SweepId sweep) {
  return {
      harness.PauseSweep(sweep).status().code(),
      harness.Ask(&ResumeSweep, OfSweep<v1::ResumeSweepRequest>(sweep)).status().code(),
      harness.Ask(&EditSweep, EditOf(sweep, SmallSweep("alices", 3))).status().code(),
      harness.Ask(&Cancel, OfTrial<v1::CancelRequest>("t-1")).status().code(),
      harness.Ask(&Retry, OfTrial<v1::RetryRequest>("t-1")).status().code(),
      harness.Ask(&Cancel, OfSweep<v1::CancelRequest>(sweep)).status().code(),
      harness.Ask(&Retry, OfSweep<v1::RetryRequest>(sweep)).status().code(),
  };
}

using OwnerTest = OneWorkerTest;

TEST_F(OwnerTest, OnlyTheOwnerAndAnAdminChangeASweepAndItsTrialsAlsoAfterARestart) {
  sweep = harness.SubmitAs(kAlice, SmallSweep("alices", 2));
  EXPECT_EQ(harness.Status(sweep).owner(), "alice");
  harness.Restart();
  EXPECT_EQ(harness.Status(sweep).owner(), "alice");
  const std::string before = DurableState(harness.state());
  harness.SetCaller(kBob);
  EXPECT_THAT(ChangeAll(harness, sweep), testing::Each(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(DurableState(harness.state()), before);
  const auto refused = harness.Ask(&Cancel, OfSweep<v1::CancelRequest>(sweep)).status();
  EXPECT_EQ(std::string(refused.message()),
            "sweep s-1 (alices) belongs to alice, and bob is not an admin; ask its owner or an admin");
  for (const Caller& may : {kAlice, kRoot, Caller()}) {
    harness.SetCaller(may);
    EXPECT_THAT(ChangeAll(harness, sweep), testing::Each(absl::StatusCode::kOk)) << may.name;
  }
  EXPECT_EQ(harness.Status(sweep).owner(), "alice");  // Also after an admin has edited it.
}

TEST_F(OwnerTest, SweepOfTheTimeBeforeCallersWereCheckedIsForAdminsAlone) {
  sweep = harness.Submit(SmallSweep("early", 1));
  EXPECT_FALSE(harness.Status(sweep).has_owner());
  harness.SetCaller(kBob);
  EXPECT_THAT(harness.PauseSweep(sweep),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("has no owner"), HasSubstr("ask an admin"))));
  harness.SetCaller(kRoot);
  EXPECT_TRUE(harness.PauseSweep(sweep).ok());
}

TEST_F(OwnerTest, RequestIdOfAnotherCallerOpensNothing) {
  harness.SetCaller(kAlice);
  const v1::SweepSpec spec = SmallSweep("alices", 2);
  ASSERT_TRUE(harness.TrySubmit(spec, "one").ok());
  auto cancel = OfSweep<v1::CancelRequest>(SweepId(1));
  cancel.set_request_id("two");
  ASSERT_TRUE(harness.Ask(&Cancel, cancel).ok());
  EXPECT_TRUE(harness.TrySubmit(spec, "one").ok());  // The same answer again.
  EXPECT_TRUE(harness.Ask(&Cancel, cancel).ok());
  harness.SetCaller(kBob);
  EXPECT_EQ(harness.TrySubmit(spec, "one").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(harness.Ask(&Cancel, cancel).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(OwnerTest, CancellingOnesSweepLeavesTheStageThatAnotherOwnerNeeds) {
  const SweepId alices = harness.SubmitAs(kAlice, SmallSweep("alices", 1));
  const SweepId bobs = harness.SubmitAs(kBob, SmallSweep("bobs", 1));
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);  // One training for both.
  const Token token = OnlyToken(worker);
  harness.SetCaller(kAlice);
  harness.CancelSweep(alices);
  harness.Sync(worker);
  ASSERT_TRUE(worker.running().contains(token));
  EXPECT_EQ(harness.Status(bobs).trials().running(), 1u);
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(bobs).trials().succeeded(), 1u);
  EXPECT_EQ(harness.Status(alices).state(), v1::SWEEP_CANCELLED);
  EXPECT_EQ(harness.Status(alices).trials().cancelled(), 1u);
}

// A stage that failed for both runs again when one of them asks for it. The other's trial stays as it ended; when its
// owner retries it, it has the result at once.
TEST_F(OwnerTest, RetryOfASharedStageChangesNothingInTheSweepOfTheOtherOwner) {
  v1::SweepSpec spec = SmallSweep("alices", 1);
  spec.mutable_retry()->set_max_crashes(1);
  const SweepId alices = harness.SubmitAs(kAlice, spec);
  spec.set_name("bobs");
  const SweepId bobs = harness.SubmitAs(kBob, spec);
  harness.Sync(worker);
  harness.Report(worker, FailureEvent(v1::CRASHED, "signal 11"));
  ASSERT_EQ(harness.Status(alices).trials().failed(), 1u);
  ASSERT_EQ(harness.Status(bobs).trials().failed(), 1u);
  v1::SweepStatus before = harness.Status(alices);
  EXPECT_EQ(harness.RetrySweep(bobs), 1u);
  EXPECT_EQ(harness.Status(alices).ShortDebugString(), before.ShortDebugString());
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(bobs).trials().succeeded(), 1u);
  // The stages that both name have a result now, and that alone can be seen.
  before.mutable_train_stages()->set_ended(1);
  before.mutable_evaluate_stages()->set_ended(1);
  EXPECT_EQ(harness.Status(alices).ShortDebugString(), before.ShortDebugString());
  harness.Restart();
  EXPECT_EQ(harness.Status(alices).ShortDebugString(), before.ShortDebugString());
  harness.SetCaller(kAlice);
  EXPECT_EQ(harness.RetrySweep(alices), 1u);
  EXPECT_EQ(harness.Status(alices).trials().succeeded(), 1u);
  EXPECT_EQ(RunAll(harness, worker), 0u);
}

class CallerLimitsTest : public testing::Test {
 protected:
  static OrchestratorOptions Options() {
    v1::CoordinatorConfig config;
    v1::CallerLimits& alice = *config.add_callers();
    alice.set_name("alice");
    alice.add_groups("nlp");
    alice.add_groups("vision");
    alice.set_priority_max(10);
    alice.set_weight_max(2);
    v1::CallerLimits& others = *config.add_callers();
    others.set_name("*");
    others.set_priority_max(0);
    return OrchestratorOptions::FromConfig(config, "1.0");
  }
  static v1::SweepSpec Spec(const std::string& group, std::int32_t priority = 0, double weight = 1) {
    v1::SweepSpec spec = SmallSweep("s", 1);
    if (!group.empty()) spec.set_group(group);
    spec.set_priority(priority);
    spec.set_weight(weight);
    return spec;
  }
  std::string Refusal(const Caller& caller, const v1::SweepSpec& spec) {
    harness_.SetCaller(caller);
    const absl::Status status = harness_.TrySubmit(spec).status();
    EXPECT_TRUE(status.ok() || absl::IsPermissionDenied(status)) << status;
    return status.ok() ? "submitted" : std::string(status.message());
  }

  Harness harness_{Options()};
};

TEST_F(CallerLimitsTest, SubmissionBeyondALimitIsRefusedWithTheLimitAndTheRemedy) {
  EXPECT_EQ(Refusal(kAlice, Spec("nlp", 10, 2)), "submitted");
  EXPECT_EQ(
      Refusal(kAlice, Spec("nlp", 11)),
      "priority: 11 is above the maximum of 10 (the coordinator's limits for alice); set priority to at "
      "most 10, or ask an admin");
  EXPECT_EQ(
      Refusal(kAlice, Spec("nlp", 0, 2.5)),
      "weight: 2.5 is above the maximum of 2 (the coordinator's limits for alice); set weight to at most "
      "2, or ask an admin");
  EXPECT_EQ(
      Refusal(kAlice, Spec("night")),
      "group: 'night' is not one of nlp, vision (the coordinator's limits for alice); set group to one of "
      "nlp, vision, or ask an admin");
  // A quota of a group is not evaded by leaving the group out.
  EXPECT_THAT(Refusal(kAlice, Spec("")),
              HasSubstr("group: a sweep without a group is not one of nlp, vision"));
  // Callers without an entry of their own.
  EXPECT_EQ(Refusal(kBob, Spec("")), "submitted");
  EXPECT_EQ(Refusal(kBob, Spec("night")), "submitted");
  EXPECT_THAT(Refusal(kBob, Spec("", 1)), HasSubstr("the maximum of 0 (the coordinator's limits for bob)"));
  EXPECT_EQ(Refusal(kRoot, Spec("", 100, 1000)), "submitted");
  EXPECT_EQ(Refusal(Caller(), Spec("", 100, 1000)), "submitted");
}

TEST_F(CallerLimitsTest, EditBeyondALimitIsRefusedAndWhatAnAdminSetMayStay) {
  ASSERT_EQ(Refusal(kAlice, Spec("nlp", 5)), "submitted");
  const SweepId sweep(1);
  const auto edit = [&](const Caller& caller, const v1::SweepSpec& spec) {
    harness_.SetCaller(caller);
    return harness_.Ask(&EditSweep, EditOf(sweep, spec)).status();
  };
  EXPECT_TRUE(absl::IsPermissionDenied(edit(kAlice, Spec("nlp", 11))));
  EXPECT_TRUE(absl::IsPermissionDenied(edit(kAlice, Spec("night", 5))));
  EXPECT_TRUE(absl::IsPermissionDenied(edit(kAlice, Spec("", 5))));
  EXPECT_TRUE(absl::IsPermissionDenied(edit(kAlice, Spec("nlp", 5, 3))));
  EXPECT_EQ(harness_.Status(sweep).revision(), 1u);
  EXPECT_TRUE(edit(kAlice, Spec("vision", 10, 2)).ok());
  EXPECT_TRUE(edit(kRoot, Spec("night", 50, 9)).ok());
  v1::SweepSpec more = Spec("night", 50, 9);
  more.mutable_axes(0)->add_values()->set_number_value(7);
  EXPECT_TRUE(edit(kAlice, more).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(edit(kAlice, Spec("night", 51, 9))));
}

}  // namespace
}  // namespace inlier
