// A fleet over gRPC: its calls with their request ids and the audit, what `why` says of it, and a restart.
#include "tests/coordinator/services/fixture.h"
#include "tests/fleet/fleet_config.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// Its programs of Slurm are in a folder that has none.
class FleetServiceTest : public CoordinatorTest {
 protected:
  void SetUp() override {
    fleet_ = SmallFleet();
    fleet_->mutable_slurm()->set_programs("/nowhere");
    StartCoordinator();
  }
  template <typename Request, typename Response>
  Response Call(grpc::Status (v1::SweepService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                const Request& request, grpc::StatusCode code = grpc::OK) {
    Response response;
    grpc::ClientContext context;
    const grpc::Status status = (sweeps_.get()->*method)(&context, request, &response);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    return response;
  }
  v1::FleetStatus Status() { return Call(&v1::SweepService::Stub::ListFleet, v1::ListFleetRequest()); }
};

TEST_F(FleetServiceTest, ARepeatedRequestGetsTheAnswerOfTheFirstAndARestartKeepsWhatItChanged) {
  v1::ScaleFleetRequest scale;
  scale.set_maximum(3);
  scale.set_request_id("one");
  EXPECT_EQ(Call(&v1::SweepService::Stub::ScaleFleet, scale).maximum(), 3u);
  v1::ScaleFleetRequest other;
  other.set_maximum(5);
  EXPECT_EQ(Call(&v1::SweepService::Stub::ScaleFleet, other).maximum(), 5u);
  EXPECT_EQ(Call(&v1::SweepService::Stub::ScaleFleet, scale).maximum(), 3u);
  EXPECT_EQ(Status().config().maximum(), 5u);
  scale.set_maximum(4);
  Call(&v1::SweepService::Stub::ScaleFleet, scale, grpc::ALREADY_EXISTS);
  Restart();
  EXPECT_EQ(Status().config().maximum(), 5u);
  v1::QueryRequest query;
  query.set_sql(
      "SELECT outcome, count(*) FROM audit WHERE method = 'ScaleFleet' GROUP BY outcome ORDER BY outcome");
  const v1::QueryResponse rows = Call(&v1::SweepService::Stub::Query, query);
  ASSERT_EQ(rows.rows_size(), 2);
  EXPECT_THAT(rows.DebugString(), testing::AllOf(HasSubstr("ALREADY_EXISTS"), HasSubstr("OK")));
}

TEST_F(FleetServiceTest, WhyNamesWhatKeepsTheFleetFromBringingWorkers) {
  Submit(SmallSweep("waits", 2));
  v1::StopFleetRequest stop;
  EXPECT_TRUE(Call(&v1::SweepService::Stub::StopFleet, stop).changed());
  v1::ExplainRequest why;
  why.set_sweep("waits");
  EXPECT_THAT(Call(&v1::SweepService::Stub::Explain, why).because(0).DebugString(),
              HasSubstr("fleet: the fleet is stopped"));
  why.clear_sweep();
  why.set_trial("t-1");
  EXPECT_THAT(Call(&v1::SweepService::Stub::Explain, why).DebugString(),
              HasSubstr("fleet: the fleet is stopped"));
  EXPECT_EQ(GetSweep("waits").warnings_size(), 1);
  stop.set_resume(true);
  EXPECT_TRUE(Call(&v1::SweepService::Stub::StopFleet, stop).changed());
  EXPECT_EQ(GetSweep("waits").warnings_size(), 0);  // The fleet brings workers.
  why.clear_trial();
  why.set_sweep("waits");
  for (int i = 0; i < 100; ++i) {
    if (Call(&v1::SweepService::Stub::Explain, why).DebugString().find("squeue is not in /nowhere") !=
        std::string::npos)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << Call(&v1::SweepService::Stub::Explain, why).DebugString();
}

}  // namespace
}  // namespace inlier
