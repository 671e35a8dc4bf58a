// People's SQL through the service: it delays no other call, has an end, and does not outlive its caller.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "coordinator/services/calls.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/support/comes.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// One instruction of SQLite that takes hours.
constexpr char kHours[] =
    "SELECT instr(replace(hex(zeroblob(8000000)), '00', 'aa'), replace(hex(zeroblob(4000000)), '00', 'aa') "
    "|| 'b')";

class QueriesTest : public CoordinatorTest {
 protected:
  // A call that its client may leave.
  struct Running {
    grpc::ClientContext context;
    v1::QueryResponse response;
    grpc::Status status;
    std::atomic<bool> ended{false};
    std::thread thread;
  };

  std::unique_ptr<Running> Start(const std::string& sql) {
    auto call = std::make_unique<Running>();
    call->thread = std::thread([this, sql, call = call.get()] {
      v1::QueryRequest request;
      request.set_sql(sql);
      call->status = sweeps_->Query(&call->context, request, &call->response);
      call->ended = true;
    });
    return call;
  }
  grpc::Status Query(const std::string& sql) {
    const auto call = Start(sql);
    call->thread.join();
    return call->status;
  }
  // As many queries of hours as are taken, all of them there: one more is refused.
  std::vector<std::unique_ptr<Running>> StartAll() {
    std::vector<std::unique_ptr<Running>> calls;
    for (int i = 0; i <= Calls::kQueries.calls_per_caller_max; ++i) calls.push_back(Start(kHours));
    const auto ended = [](const std::unique_ptr<Running>& call) { return call->ended.load(); };
    EXPECT_TRUE(Comes([&] { return std::ranges::any_of(calls, ended); }));
    const auto refused = std::ranges::find_if(calls, ended);
    (*refused)->thread.join();
    EXPECT_EQ((*refused)->status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    calls.erase(refused);
    return calls;
  }
  bool AllRun() { return Query("SELECT 1").error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED; }
};

TEST_F(QueriesTest, NothingElseWaitsForThem) {
  Submit(SmallSweep("quiet", 2));
  const auto calls = StartAll();
  EXPECT_THAT(Query("SELECT 1").error_message(),
              HasSubstr("too many queries at once by callers without a name, at most 10"));
  Call(&Stub::ListTrials, OfSweep<v1::ListTrialsRequest>("quiet"));
  Call(&Stub::BuildTable, OfSweep<v1::BuildTableRequest>("quiet"));
  Call(&Stub::GetLogs, OfTrial<v1::GetLogsRequest>("t-1"));
  Call(&Stub::ListSweeps, {});
  EXPECT_TRUE(AllRun()) << "a call waited until a query had reached its time limit";
  for (const auto& call : calls) call->context.TryCancel();
  for (const auto& call : calls) call->thread.join();
  EXPECT_TRUE(Comes([this] { return Query("SELECT 1").ok(); })) << "their places are not free again";
}

TEST_F(QueriesTest, StopOfTheCoordinatorWaitsForNone) {
  const auto calls = StartAll();
  coordinator_->Stop();
  for (const auto& call : calls) {
    call->thread.join();
    // Not DEADLINE_EXCEEDED, that of a query that has had its time.
    EXPECT_EQ(call->status.error_code(), grpc::StatusCode::UNAVAILABLE) << call->status.error_message();
  }
}

class SharedQueriesTest : public GuardedTest {};

TEST_F(SharedQueriesTest, OneCallerCannotTakeThePlacesOfAnother) {
  const std::string greedy = AddToken(Role::kRead, "greedy"), modest = AddToken(Role::kRead, "modest");
  Start();
  const auto ask = [](v1::SweepService::Stub& stub, grpc::ClientContext& context, const std::string& sql) {
    v1::QueryRequest request;
    request.set_sql(sql);
    v1::QueryResponse response;
    return stub.Query(&context, request, &response);
  };
  const auto greedy_stub = v1::SweepService::NewStub(Channel(WithToken(greedy)));
  const auto modest_stub = v1::SweepService::NewStub(Channel(WithToken(modest)));
  std::vector<grpc::ClientContext> contexts(Calls::kQueries.calls_per_caller_max);
  std::vector<std::thread> calls;
  for (grpc::ClientContext& context : contexts)
    calls.emplace_back([&] { ask(*greedy_stub, context, kHours); });
  std::string refusal;
  while (refusal.empty()) {  // Until all of them are there.
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    const grpc::Status status = ask(*greedy_stub, context, "SELECT 1");
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) refusal = status.error_message();
  }
  EXPECT_EQ(refusal, "too many queries at once by greedy, at most 10; wait until one has its answer");
  const Timestamp began = MonotonicNow();
  grpc::ClientContext context;
  const grpc::Status answered = ask(*modest_stub, context, "SELECT 1");
  EXPECT_TRUE(answered.ok()) << answered.error_message();
  EXPECT_LT(MonotonicNow() - began, std::chrono::seconds(2));  // The others have ten.
  for (grpc::ClientContext& other : contexts) other.TryCancel();
  for (std::thread& call : calls) call.join();
}

}  // namespace
}  // namespace inlier
