// Errors, and their class and message. Exceptions are LibTorch's own where a test can make it throw them.
#include "core/trial/failure.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "core/gang/gang.h"
#include "core/nn/attention/script.h"

namespace inlier {
namespace {

TEST(FailureTest, StatusCodesDecideTheClass) {
  EXPECT_EQ(FailedWith(absl::InvalidArgumentError("a")).failure(), v1::INVALID_SPEC);
  EXPECT_EQ(FailedWith(absl::NotFoundError("a")).failure(), v1::INVALID_SPEC);
  EXPECT_EQ(FailedWith(absl::FailedPreconditionError("a")).failure(), v1::INVALID_SPEC);
  EXPECT_EQ(FailedWith(absl::CancelledError("a")).failure(), v1::PREEMPTED);
  EXPECT_EQ(FailedWith(absl::ResourceExhaustedError("No space left on device")).failure(), v1::CRASHED);
  const v1::Outcome outcome = FailedWith(absl::DataLossError("model.safetensors: cut short"));
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_EQ(outcome.message(), "model.safetensors: cut short");
}

TEST(FailureTest, ALostRankIsACrashThatAnotherProcessExplains) {
  const v1::Outcome outcome = CatchFailures([]() -> v1::Outcome { throw GangBroken("rank 0 of 2"); });
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_TRUE(outcome.lost_a_rank());
  EXPECT_EQ(outcome.message(), "rank 0 of 2");
}

TEST(FailureTest, AScriptThatThrowsIsTheSpecs) {
  const auto thrown = [](const char* what) {
    return CatchFailures([what]() -> v1::Outcome { throw ScriptError(what); });
  };
  EXPECT_EQ(thrown("a.pt: no such dimension").failure(), v1::INVALID_SPEC);
  EXPECT_EQ(thrown("a.pt: no such dimension").message(), "a.pt: no such dimension");
  EXPECT_EQ(thrown("a.pt: CUDA out of memory. Tried to allocate 2 GiB").failure(), v1::OUT_OF_MEMORY);
  EXPECT_TRUE(thrown("a.pt: CUDA out of memory. Tried to allocate 2 GiB").gpu_out_of_memory());
}

TEST(FailureTest, AllocationThatTheMachineCannotMeetIsOutOfMemory) {
  const v1::Outcome outcome = CatchFailures([] {
    at::empty({std::int64_t{1} << 46}, at::kFloat);
    return Succeeded();
  });
  EXPECT_EQ(outcome.failure(), v1::OUT_OF_MEMORY) << outcome.message();
  EXPECT_FALSE(outcome.gpu_out_of_memory());
  EXPECT_THAT(outcome.message(), testing::HasSubstr("gradient_accumulation"));
  EXPECT_EQ(CatchFailures([]() -> v1::Outcome { throw std::bad_alloc(); }).failure(), v1::OUT_OF_MEMORY);
}

TEST(FailureTest, ShapesThatDoNotFitAreACrashWithLibTorchsWordsAndNoBacktrace) {
  const v1::Outcome outcome = CatchFailures([] {
    at::matmul(at::zeros({2, 3}), at::zeros({4, 5}));
    return Succeeded();
  });
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(outcome.message(), testing::StartsWith("LibTorch: "));
  EXPECT_THAT(outcome.message(), testing::HasSubstr("2x3 and 4x5"));
  EXPECT_THAT(outcome.message(), testing::Not(testing::HasSubstr("frame #")));
}

TEST(FailureTest, OtherExceptionsAreCrashesAndLongMessagesAreCut) {
  EXPECT_EQ(CatchFailures([]() -> v1::Outcome { throw std::runtime_error("odd"); }).message(), "odd");
  EXPECT_EQ(FailedWith(absl::InternalError(std::string(100000, 'x'))).message().size(), 4000u);
}

TEST(FailureTest, ResultsAreHandedThrough) {
  EXPECT_EQ(CatchFailures([] { return Diverged("at update 3"); }).kind(), v1::Outcome::DIVERGED);
}

}  // namespace
}  // namespace inlier
