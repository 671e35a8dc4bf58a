// Calls whose callers are silent, and what a caller may hold, with a server of their own for which the test has the time.
#include "coordinator/services/call_stream.h"

#include <gmock/gmock.h>
#include <grpcpp/impl/client_unary_call.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "inlier/v1/sweep_service.grpc.pb.h"
#include "rpc/rpc.h"
#include "tests/support/comes.h"
#include "tests/support/plain_channel.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using grpc::StatusCode;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

// Sends updates of a mebibyte without end.
class EndlessCall final : public CallStream {
 public:
  EndlessCall(AdmittedCall call, std::atomic<int>& written) : CallStream(std::move(call)), written_(written) {
    for (int i = 0; i < 16; ++i) update_.add_notices(std::string(1 << 16, 'x'));
    Read(request_);
  }

 private:
  void OnMessage(absl::StatusOr<bool> got) override {
    if (!got.ok() || !*got) return Finish(ToGrpcStatus(got.status()));
    Write(update_);
  }
  void OnWritten(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    ++written_;
    Write(update_);
  }

  std::atomic<int>& written_;
  v1::WatchSweepRequest request_;
  v1::SweepUpdate update_;
};

class CallStreamTest : public testing::Test, public grpc::CallbackGenericService {
 protected:
  using Query = UnaryCall<v1::QueryRequest, v1::QueryResponse>;

  void SetUp() override {
    v1::CoordinatorConfig config;
    access_ = *Access::Open(config, metrics_);
    bounds_ = std::make_unique<CallBounds>(*access_, metrics_, seconds(60));
    listening_ =
        StartServer("127.0.0.1:0", "listen", {}, {.request_bytes_max = 8 << 20, .door = this}).value();
    channel_ = PlainChannel(listening_.address);
    stub_ = v1::SweepService::NewStub(channel_);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    auto admitted = access_->Admit(*context, "Query");
    EXPECT_TRUE(admitted.ok()) << admitted.status();
    AdmittedCall admitted_call{*context, *bounds_, *std::move(admitted)};
    if (context->method() == "/inlier.v1.SweepService/WatchSweep")
      return new EndlessCall(std::move(admitted_call), written_);
    auto* const call = new Query(std::move(admitted_call), handler_);
    ++waiting_;
    return call;
  }
  static constexpr std::size_t kLight = 10'000, kHeavy = 100'000;  // Bytes of text.
  grpc::Status Ask(std::size_t length) {
    grpc::ClientContext context;
    v1::QueryRequest request;
    if (length > 0) request.set_sql(std::string(length, 'q'));
    v1::QueryResponse response;
    return stub_->Query(&context, request, &response);
  }

  CoordinatorMetrics metrics_{20};
  std::unique_ptr<Access> access_;
  std::unique_ptr<CallBounds> bounds_;
  const Query::Handler handler_ = [this](UnaryContext* context, const v1::QueryRequest* request,
                                         v1::QueryResponse* response) {
    ++answered_;
    response->add_columns(request->sql());
    context->Reply(grpc::Status::OK);
  };
  std::atomic<int> waiting_{0};  // Calls that wait for their message, or have waited.
  std::atomic<int> answered_{0}, written_{0};
  ListeningServer listening_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SweepService::Stub> stub_;
};

TEST_F(CallStreamTest, CallIsAnsweredAndHoldsNothingAfterwards) {
  grpc::ClientContext context;
  v1::QueryRequest request;
  request.set_sql(std::string(100'000, 'q'));
  v1::QueryResponse response;
  ASSERT_TRUE(stub_->Query(&context, request, &response).ok());
  EXPECT_EQ(response.columns(0), request.sql());
  EXPECT_TRUE(Comes([this] { return bounds_->bytes.all() == 0; }));
}

TEST_F(CallStreamTest, CallWhoseMessageDoesNotComeEndsWithTheReason) {
  grpc::ClientContext context;
  // A unary call without its message, which only another kind of client can make.
  grpc::internal::RpcMethod method("/inlier.v1.SweepService/Query",
                                   grpc::internal::RpcMethod::CLIENT_STREAMING);
  v1::QueryResponse response;
  std::unique_ptr<grpc::ClientWriter<v1::QueryRequest>> writer(
      grpc::internal::ClientWriterFactory<v1::QueryRequest>::Create(channel_.get(), method, &context,
                                                                    &response));
  EXPECT_TRUE(Comes([this] { return waiting_ == 1; }));
  bounds_->Expire(MonotonicNow() + seconds(59));
  EXPECT_TRUE(Ask(kLight).ok());
  bounds_->Expire(MonotonicNow() + seconds(61));
  EXPECT_THAT(writer->Finish(), FailsWith(StatusCode::DEADLINE_EXCEEDED,
                                          HasSubstr("nothing has come from the caller for too long")));
  EXPECT_TRUE(
      Comes([this] { return metrics_.registry().Expose().find("DEADLINE_EXCEEDED") != std::string::npos; }));
}

TEST_F(CallStreamTest, CallerThatDoesNotReadIsDroppedWithACodeThatResumes) {
  grpc::ClientContext context;
  const auto reader = stub_->WatchSweep(&context, v1::WatchSweepRequest());
  v1::SweepUpdate update;
  ASSERT_TRUE(reader->Read(&update));
  int written = -1;  // Until nothing more fits into the buffers between.
  EXPECT_TRUE(Comes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return std::exchange(written, written_.load()) == written_;
  }));
  bounds_->Expire(MonotonicNow() + seconds(61));
  while (reader->Read(&update)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(CallStreamTest, CallerThatIsSilentLongestLosesItsPlace) {
  grpc::internal::RpcMethod method("/inlier.v1.SweepService/Query",
                                   grpc::internal::RpcMethod::CLIENT_STREAMING);
  struct Silent {
    grpc::ClientContext context;
    v1::QueryResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::QueryRequest>> writer;
  } first, second;
  for (Silent* call : {&first, &second}) {
    const int before = waiting_;
    call->writer.reset(grpc::internal::ClientWriterFactory<v1::QueryRequest>::Create(
        channel_.get(), method, &call->context, &call->response));
    EXPECT_TRUE(Comes([&] { return waiting_ == before + 1; }));
  }
  const Timestamp soon = MonotonicNow() + seconds(1);
  EXPECT_FALSE(bounds_->EndLongestSilence("Query", soon, seconds(10)));
  EXPECT_FALSE(bounds_->EndLongestSilence("Other", soon, Duration(0)));
  EXPECT_TRUE(bounds_->EndLongestSilence("Query", soon, Duration(0)));
  EXPECT_EQ(first.writer->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(bounds_->EndLongestSilence("Query", soon, Duration(0)));
  EXPECT_EQ(second.writer->Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_FALSE(bounds_->EndLongestSilence("Query", soon, Duration(0)));
}

TEST_F(CallStreamTest, CallerHoldsSoManyBytesAndNoMore) {
  auto held = bounds_->bytes.Hold("", ByteShares::kOfCaller - 1000);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(Ask(0).ok());
  for (const std::size_t length : {kLight, kHeavy}) {
    const grpc::Status refused = Ask(length);
    EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(
        refused.error_message(),
        "the requests and answers of callers without a name would take more than 192 MiB of memory, the "
        "maximum; try again in a moment");
  }
  held = nullptr;
  EXPECT_TRUE(Ask(kHeavy).ok());
}

TEST_F(CallStreamTest, EmptyMessagesOfOneCallerAtOnceAreNotCounted) {
  ByteShares& bytes = bounds_->bytes;
  auto first = bytes.Hold("a", 0).value(), second = bytes.Hold("a", 0).value();
  first = second = nullptr;
  EXPECT_TRUE(bytes.Hold("a", ByteShares::kOfCaller).ok());
}

TEST_F(CallStreamTest, AnswersThatNobodyReadsAreBounded) {
  // Room for the message, and not for its answer too.
  auto held = bounds_->bytes.Hold("", ByteShares::kOfCaller - kLight * 3 / 2);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(Ask(kLight).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(answered_, 1);
  held = nullptr;
  EXPECT_TRUE(Ask(kLight).ok());
  EXPECT_TRUE(Comes([this] { return bounds_->bytes.all() == 0; }));
}

TEST_F(CallStreamTest, LargeMessagesOfSomeLeaveRoomForTheSmallOnesOfOthers) {
  std::vector<std::shared_ptr<void>> held;
  for (const char* caller : {"1", "2", "3", "4", "5"}) {
    auto all = bounds_->bytes.Hold(caller, (ByteShares::kOfAll - ByteShares::kLeftToSmall) / 5).value();
    held.push_back(std::move(all));
  }
  EXPECT_TRUE(Ask(kLight).ok());
  EXPECT_THAT(Ask(kHeavy), FailsWith(StatusCode::RESOURCE_EXHAUSTED,
                                     HasSubstr("of all callers would take more than 896 MiB")));
}

TEST_F(CallStreamTest, HeavyMessagesWaitForTheirTurnAndLightOnesDoNot) {
  std::promise<void> release;
  bounds_->RunHeavy(
      "another", [&release] { release.get_future().wait(); }, [](const absl::Status&) { FAIL(); });
  std::vector<std::future<grpc::Status>> waiting;
  for (int i = 0; i < 20; ++i)
    waiting.push_back(std::async(std::launch::async, [this] { return Ask(kHeavy); }));
  EXPECT_TRUE(Comes([this] { return bounds_->bytes.all() > 20 * kHeavy; }));
  EXPECT_LT(bounds_->bytes.all(), 21 * kHeavy);  // They are as they came.
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Ask(kLight).ok());
  for (const auto& call : waiting) EXPECT_EQ(call.wait_for(seconds(0)), std::future_status::timeout);
  release.set_value();
  for (auto& call : waiting) EXPECT_TRUE(call.get().ok());
  EXPECT_TRUE(Comes([this] { return bounds_->bytes.all() == 0; }));
}

TEST_F(CallStreamTest, HeavyMessagesThatWaitAreRefusedWhenTheServerStops) {
  std::promise<void> release;
  bounds_->RunHeavy(
      "", [&release] { release.get_future().wait(); }, [](const absl::Status&) { FAIL(); });
  std::future<grpc::Status> waiting = std::async(std::launch::async, [this] { return Ask(kHeavy); });
  EXPECT_TRUE(Comes([this] { return bounds_->bytes.all() > 0; }));
  bounds_->Stop();
  release.set_value();
  EXPECT_THAT(waiting.get(), FailsWith(StatusCode::UNAVAILABLE, HasSubstr("call again when it is back")));
}

TEST_F(CallStreamTest, BytesThatAreNoMessageAreRefused) {
  grpc::internal::RpcMethod method("/inlier.v1.SweepService/Query", grpc::internal::RpcMethod::NORMAL_RPC);
  v1::QueryResponse response;
  grpc::ClientContext context;
  const grpc::Slice wrong("\x0a\x7f", 2);  // A text of 127 bytes, of which none is there.
  const grpc::ByteBuffer bytes(&wrong, 1);
  const grpc::Status refused = grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, v1::QueryResponse>(
      channel_.get(), method, &context, bytes, &response);
  EXPECT_THAT(refused, FailsWith(StatusCode::INVALID_ARGUMENT,
                                 AllOf(HasSubstr("the message (QueryRequest) cannot be read"),
                                       HasSubstr("install the same version"))));
}

}  // namespace
}  // namespace inlier
