#include "base/status.h"

#include <cerrno>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

TEST(StatusTest, AnnotateKeepsTheCodeAndNamesTheOperation) {
  EXPECT_THAT(Annotate(absl::NotFoundError("no file x"), "while leasing trial t-17"),
              StatusIs(absl::StatusCode::kNotFound, "no file x: while leasing trial t-17"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "while idle").ok());
}

TEST(StatusTest, OnlyTransientErrorsAreRetriable) {
  for (const absl::Status& passing : {absl::UnavailableError(""), absl::ResourceExhaustedError(""),
                                      absl::AbortedError(""), absl::DeadlineExceededError("")}) {
    EXPECT_TRUE(IsRetriable(passing)) << passing;
  }
  for (const absl::Status& lasting :
       {absl::OkStatus(), absl::InvalidArgumentError(""), absl::FailedPreconditionError(""),
        absl::DataLossError(""), absl::NotFoundError(""), absl::InternalError(""),
        absl::AlreadyExistsError(""), absl::CancelledError("")}) {
    EXPECT_FALSE(IsRetriable(lasting)) << lasting;
  }
}

TEST(StatusTest, ErrnoIsReportedWithTheOperation) {
  errno = ENOENT;
  EXPECT_THAT(ErrnoStatus("cannot open /x"),
              StatusIs(absl::StatusCode::kNotFound, "cannot open /x: No such file or directory"));
}

absl::Status FirstError(const absl::Status& first, const absl::Status& second) {
  RETURN_IF_ERROR(first);
  RETURN_IF_ERROR(second);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<int>> Doubled(absl::StatusOr<std::unique_ptr<int>> number) {
  ASSIGN_OR_RETURN(std::unique_ptr<int> value, std::move(number));
  *value *= 2;
  return value;
}

TEST(StatusTest, MacrosReturnTheFirstErrorAndMoveTheValue) {
  EXPECT_TRUE(FirstError(absl::OkStatus(), absl::OkStatus()).ok());
  EXPECT_EQ(FirstError(absl::OkStatus(), absl::AbortedError("b")).message(), "b");
  EXPECT_EQ(FirstError(absl::NotFoundError("a"), absl::AbortedError("b")).message(), "a");
  EXPECT_EQ(**Doubled(std::make_unique<int>(21)), 42);
  EXPECT_EQ(Doubled(absl::NotFoundError("a")).status().message(), "a");
}

}  // namespace
}  // namespace inlier
