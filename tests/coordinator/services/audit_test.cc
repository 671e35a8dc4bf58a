// Which calls get a row of the audit, and what is in it.
#include "coordinator/services/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {
namespace {

class AuditTest : public testing::Test {
 protected:
  // The row of a call that ends so, `minutes` after the beginning.
  std::optional<AuditRow> Add(const std::string& who, const absl::Status& outcome, int minutes,
                              bool has_space = true) {
    v1::CancelRequest request;
    request.set_sweep("s-1");
    Effects effects;
    audit_.Add(
        Audit::RowOf({.name = who, .role = "submit", .peer = "here", .admin = false}, "Cancel", &request),
        outcome, {Timestamp{std::chrono::minutes(minutes)}, WallTime{1000}}, has_space, effects);
    if (effects.changes.empty()) return std::nullopt;
    return std::get<AuditRow>(effects.changes.changes.front());
  }

  Audit audit_;
  const absl::Status refused_ = absl::PermissionDeniedError("not yours");
};

TEST_F(AuditTest, RefusedCallsBeyondTheLimitAreCountedInTheNextRow) {
  for (int i = 0; i < Audit::kRefusalsAtOnce; ++i) ASSERT_EQ(Add("bob", refused_, 0).value().calls, 1u);
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(Add("bob", refused_, 9));
  EXPECT_EQ(Add("alice", refused_, 9).value().calls, 1u);
  EXPECT_EQ(Add("bob", absl::OkStatus(), 9).value().calls, 1u);
  EXPECT_EQ(Add("bob", refused_, 11).value().calls, 8u);
  EXPECT_FALSE(Add("bob", refused_, 12));
  EXPECT_EQ(Add("bob", refused_, 10'000).value().calls, 2u);
}

TEST_F(AuditTest, WhileTheStoreIsFullRefusedCallsAreOnlyCounted) {
  EXPECT_FALSE(Add("bob", refused_, 0, /*has_space=*/false));
  EXPECT_TRUE(Add("bob", absl::OkStatus(), 0, /*has_space=*/false).has_value());
  EXPECT_EQ(Add("bob", refused_, 0).value().calls, 2u);
}

TEST_F(AuditTest, RowHoldsTheBeginningOfWhatWasSentAsText) {
  v1::EditSweepRequest request;
  request.set_sweep("gam\nma\x1b[2J");
  request.set_revision(3);
  request.mutable_spec()->set_group("nlp");
  std::string description(5000, 'x');
  description += '\xff';
  request.mutable_spec()->set_description(description);
  request.set_request_id("secret");
  const AuditRow row = Audit::RowOf({}, "EditSweep", &request);
  EXPECT_THAT(row.request, testing::StartsWith("sweep: \"gam ma [2J\", revision: 3, spec: {"));
  EXPECT_LE(row.request.size(), 200u);
  EXPECT_EQ(row.request.find("secret"), std::string::npos);
  EXPECT_EQ(row.digest.size(), 64u);
}

TEST_F(AuditTest, RowBeginsWithTheProgramOfTheSweep) {
  v1::SubmitSweepRequest request;
  request.mutable_sweep()->set_name("long");
  request.mutable_sweep()->set_description(std::string(500, 'x'));
  request.mutable_sweep()->mutable_program()->set_name("count\n");
  request.mutable_sweep()->mutable_program()->set_digest(std::string(64, 'a'));
  EXPECT_THAT(Audit::RowOf({}, "SubmitSweep", &request).request,
              testing::StartsWith("sweep: {program: {name: \"count \", digest: \"" + std::string(64, 'a') +
                                  "\"}, name: \"long\", "));
}

TEST_F(AuditTest, RowNamesTheEngineOfAFleet) {
  v1::SetFleetRequest request;
  request.mutable_config()->mutable_slurm()->set_partition("gpu");
  request.mutable_config()->set_maximum(8);
  EXPECT_EQ(Audit::RowOf({}, "SetFleet", &request).request,
            "config: {maximum: 8, slurm: {partition: \"gpu\"}}");
}

}  // namespace
}  // namespace inlier
