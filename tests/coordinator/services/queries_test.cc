// People's SQL through the service: it delays no other call, has an end, and does not outlive its caller.
#include <chrono>
#include <thread>

#include "coordinator/services/calls.h"
#include "tests/coordinator/services/fixture.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// One instruction of SQLite that takes hours.
constexpr char kHours[] =
    "SELECT instr(replace(hex(zeroblob(8000000)), '00', 'aa'), replace(hex(zeroblob(4000000)), '00', 'aa') || 'b')";

class QueriesTest : public CoordinatorTest {
 protected:
  // A call that its client may leave.
  struct Call {
    grpc::ClientContext context;
    v1::QueryResponse response;
    grpc::Status status;
    std::thread thread;
  };

  std::unique_ptr<Call> Start(const std::string& sql) {
    auto call = std::make_unique<Call>();
    call->thread = std::thread([this, sql, call = call.get()] {
      v1::QueryRequest request;
      request.set_sql(sql);
      call->status = sweeps_->Query(&call->context, request, &call->response);
    });
    return call;
  }
  grpc::Status Query(const std::string& sql) {
    const auto call = Start(sql);
    call->thread.join();
    return call->status;
  }
  template <typename Request, typename Response>
  Duration TimeOf(grpc::Status (v1::SweepService::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request) {
    Response response;
    grpc::ClientContext context;
    const Timestamp began = MonotonicNow();
    const grpc::Status status = (sweeps_.get()->*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return MonotonicNow() - began;
  }
};

TEST_F(QueriesTest, NothingElseWaitsForThem) {
  Submit(SmallSweep("quiet", 2));
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < Calls::kQueriesMax; ++i) calls.push_back(Start(kHours));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(Query("SELECT 1").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(Query("SELECT 1").error_message(), HasSubstr("too many queries at once, at most 10"));
  v1::ListTrialsRequest list;
  list.set_sweep("quiet");
  EXPECT_LT(TimeOf(&v1::SweepService::Stub::ListTrials, list), std::chrono::seconds(1));
  v1::BuildTableRequest table;
  table.set_sweep("quiet");
  EXPECT_LT(TimeOf(&v1::SweepService::Stub::BuildTable, table), std::chrono::seconds(1));
  v1::GetLogsRequest logs;
  logs.set_trial("t-1");
  EXPECT_LT(TimeOf(&v1::SweepService::Stub::GetLogs, logs), std::chrono::seconds(1));
  v1::ListSweepsRequest sweeps;
  EXPECT_LT(TimeOf(&v1::SweepService::Stub::ListSweeps, sweeps), std::chrono::seconds(1));
  for (const auto& call : calls) call->context.TryCancel();
  for (const auto& call : calls) call->thread.join();
  // Their places are free again.
  const Timestamp began = MonotonicNow();
  while (!Query("SELECT 1").ok() && MonotonicNow() - began < std::chrono::seconds(5)) {
  }
  EXPECT_LT(MonotonicNow() - began, std::chrono::seconds(5));
}

TEST_F(QueriesTest, StopOfTheCoordinatorWaitsForNone) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(Start(kHours));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Timestamp began = MonotonicNow();
  coordinator_->Stop();
  EXPECT_LT(MonotonicNow() - began, std::chrono::seconds(2));
  for (const auto& call : calls) {
    call->thread.join();
    EXPECT_EQ(call->status.error_code(), grpc::StatusCode::UNAVAILABLE) << call->status.error_message();
  }
}

}  // namespace
}  // namespace inlier
