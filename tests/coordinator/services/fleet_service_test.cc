// A fleet over gRPC: its calls with their request ids and the audit, what `why` shows of it, and a restart.
#include "tests/coordinator/services/fixture.h"
#include "tests/fleet/fleet_config.h"
#include "tests/support/comes.h"

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
  v1::FleetStatus Status() { return Call(&Stub::ListFleet, {}); }
};

TEST_F(FleetServiceTest, ARepeatedRequestGetsTheAnswerOfTheFirstAndARestartKeepsWhatItChanged) {
  v1::ScaleFleetRequest scale;
  scale.set_maximum(3);
  scale.set_request_id("one");
  EXPECT_EQ(Call(&Stub::ScaleFleet, scale).maximum(), 3u);
  v1::ScaleFleetRequest other;
  other.set_maximum(5);
  EXPECT_EQ(Call(&Stub::ScaleFleet, other).maximum(), 5u);
  EXPECT_EQ(Call(&Stub::ScaleFleet, scale).maximum(), 3u);
  EXPECT_EQ(Status().config().maximum(), 5u);
  scale.set_maximum(4);
  EXPECT_EQ(Try(&Stub::ScaleFleet, scale).error_code(), grpc::ALREADY_EXISTS);
  Restart();
  EXPECT_EQ(Status().config().maximum(), 5u);
  v1::QueryRequest query;
  query.set_sql(
      "SELECT outcome, count(*) FROM audit WHERE method = 'ScaleFleet' GROUP BY outcome ORDER BY outcome");
  const v1::QueryResponse rows = Call(&Stub::Query, query);
  ASSERT_EQ(rows.rows_size(), 2);
  EXPECT_THAT(rows.DebugString(), testing::AllOf(HasSubstr("ALREADY_EXISTS"), HasSubstr("OK")));
}

TEST_F(FleetServiceTest, WhyNamesWhatKeepsTheFleetFromBringingWorkers) {
  Submit(SmallSweep("waits", 2));
  v1::StopFleetRequest stop;
  EXPECT_TRUE(Call(&Stub::StopFleet, stop).changed());
  const auto why = [this] {
    return Call(&Stub::Explain, OfSweep<v1::ExplainRequest>("waits")).DebugString();
  };
  EXPECT_THAT(Call(&Stub::Explain, OfSweep<v1::ExplainRequest>("waits")).because(0).DebugString(),
              HasSubstr("fleet: the fleet is stopped"));
  EXPECT_THAT(Call(&Stub::Explain, OfTrial<v1::ExplainRequest>("t-1")).DebugString(),
              HasSubstr("fleet: the fleet is stopped"));
  EXPECT_EQ(GetSweep("waits").warnings_size(), 1);
  stop.set_resume(true);
  EXPECT_TRUE(Call(&Stub::StopFleet, stop).changed());
  EXPECT_EQ(GetSweep("waits").warnings_size(), 0);  // The fleet brings workers.
  EXPECT_TRUE(Comes([&] { return why().find("squeue is not in /nowhere") != std::string::npos; }));
}

}  // namespace
}  // namespace inlier
