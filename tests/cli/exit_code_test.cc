#include "cli/exit_code.h"

#include "cli/sweeps/sweep_watch.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

TEST(ExitCodeTest, EachKindOfErrorHasItsDocumentedStatus) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::AlreadyExistsError("")), 6);
  EXPECT_EQ(ExitCodeOf(absl::UnauthenticatedError("")), 6);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), 7);
}

TEST(ExitCodeTest, ADivergedTrialIsAResultAndAFailedOneIsNot) {
  v1::SweepStatus status;
  status.set_state(v1::COMPLETE);
  status.mutable_trials()->set_diverged(1);
  EXPECT_EQ(ExitCodeOfSweep(status), kExitOk);
  status.mutable_trials()->set_failed(1);
  EXPECT_EQ(ExitCodeOfSweep(status), kExitFailed);
}

}  // namespace
}  // namespace inlier
