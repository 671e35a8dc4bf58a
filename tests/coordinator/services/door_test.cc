// Who calls is known before anything is read, and no caller holds a place by doing nothing: the real daemon
// and callers that send too much, too often, or nothing at all.
#include "coordinator/services/door.h"

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "base/digest.h"
#include "coordinator/services/artifact_service.h"
#include "coordinator/services/watch_hub.h"
#include "inlier/v1/artifact_service.grpc.pb.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/support/comes.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kMiB = 1 << 20;

std::size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

// The most memory that the process has held since the start of the object, above what it held then.
class MemoryWatch {
 public:
  MemoryWatch() : before_(ResidentBytes()) {
    thread_ = std::thread([this] {
      while (!stop_) {
        most_ = std::max<std::size_t>(most_, ResidentBytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  }
  ~MemoryWatch() {
    stop_ = true;
    thread_.join();
  }
  std::size_t grown() const { return most_ > before_ ? most_ - before_ : 0; }

 private:
  const std::size_t before_;
  std::atomic<std::size_t> most_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// A SubmitSweepRequest, or the beginning of one, of so many bytes of empty axes.
grpc::ByteBuffer EmptyAxes(std::size_t bytes) {
  const std::string axis{static_cast<char>(v1::SweepSpec::kAxesFieldNumber << 3 | 2), '\0'};
  std::string sweep;
  while (sweep.size() < bytes) sweep += axis;
  std::string message(1, static_cast<char>(v1::SubmitSweepRequest::kSweepFieldNumber << 3 | 2));
  for (std::size_t length = sweep.size();; length >>= 7) {
    message += static_cast<char>(length > 127 ? (length & 127) | 128 : length);
    if (length <= 127) break;
  }
  const grpc::Slice slice(message + sweep);
  return grpc::ByteBuffer(&slice, 1);
}

class DoorTest : public GuardedTest {
 protected:
  std::shared_ptr<grpc::Channel> Channel(const std::string& token = "") {
    return GuardedTest::Channel(WithToken(token));
  }
  static grpc::Status Unary(const std::shared_ptr<grpc::Channel>& channel, const std::string& path,
                            const grpc::ByteBuffer& message) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    auto call = stub.PrepareUnaryCall(&context, path, message, &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  }
  static constexpr char kSubmit[] = "/inlier.v1.SweepService/SubmitSweep";
};

TEST_F(DoorTest, CallersThatAreNotKnownCostNoMemoryWhateverTheySend) {
  AddToken(Role::kSubmit, "alice");
  Start();
  const grpc::ByteBuffer large = EmptyAxes(16 * kMiB);
  EXPECT_EQ(Unary(Channel(), kSubmit, EmptyAxes(2)).error_code(), StatusCode::UNAUTHENTICATED);
  const MemoryWatch memory;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const auto channel = Channel();
      // Else a busy machine fails the call that connects.
      ASSERT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60)));
      for (int n = 0; n < 40; ++n)
        EXPECT_EQ(Unary(channel, kSubmit, large).error_code(), StatusCode::UNAUTHENTICATED);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(memory.grown(), 64 * kMiB);
}

TEST_F(DoorTest, MessageThatUnpacksToTooMuchIsRefusedBeforeItIsParsed) {
  const std::string alice = AddToken(Role::kSubmit, "alice");
  Start();
  const grpc::ByteBuffer empty_axes = EmptyAxes(8 * kMiB - 100);
  const auto channel = Channel(alice);
  ASSERT_TRUE(List(channel).ok());
  const MemoryWatch memory;
  EXPECT_THAT(
      Unary(channel, kSubmit, empty_axes),
      FailsWith(StatusCode::INVALID_ARGUMENT, AllOf(HasSubstr("more than 64 MiB"), HasSubstr("split it"))));
  EXPECT_LT(memory.grown(), 64 * kMiB);
}

TEST_F(DoorTest, MessageAboveTheLimitOfBytesIsRefused) {
  const std::string alice = AddToken(Role::kSubmit, "alice");
  Start();
  EXPECT_THAT(Unary(Channel(alice), kSubmit, EmptyAxes(9 * kMiB)),
              FailsWith(StatusCode::RESOURCE_EXHAUSTED, HasSubstr("8388608")));
}

TEST_F(DoorTest, CompressedMessagesAreNotUnpacked) {
  const std::string alice = AddToken(Role::kSubmit, "alice");
  config_.set_message_bytes_max(256 * kMiB);
  Start();
  v1::QueryRequest request;
  request.set_sql(std::string(50 * kMiB, ' '));  // 50 KiB of gzip.
  const auto stub = v1::SweepService::NewStub(Channel(alice));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::QueryResponse response;
  EXPECT_THAT(stub->Query(&context, request, &response),
              FailsWith(StatusCode::UNIMPLEMENTED, HasSubstr("gzip")));
}

TEST_F(DoorTest, WhatIsNotServedIsRefusedByName) {
  AddToken(Role::kSubmit, "alice");
  Start();
  EXPECT_THAT(Unary(Channel(), "/inlier.v1.SweepService/NoSuchMethod", EmptyAxes(2)),
              FailsWith(StatusCode::UNIMPLEMENTED,
                        HasSubstr("there is no method /inlier.v1.SweepService/NoSuchMethod")));
}

// Streams of callers that send the metadata and then nothing.
class SilentCalls {
 public:
  SilentCalls(std::shared_ptr<grpc::Channel> channel, const std::string& path, int count)
      : stub_(std::move(channel)) {
    for (int i = 0; i < count; ++i) {
      contexts_.push_back(std::make_unique<grpc::ClientContext>());
      calls_.push_back(stub_.PrepareCall(contexts_.back().get(), path, &queue_));
      calls_.back()->StartCall(nullptr);
      void* tag = nullptr;
      bool ok = false;
      queue_.Next(&tag, &ok);
    }
  }
  ~SilentCalls() {
    for (const auto& context : contexts_) context->TryCancel();
    while (ended_ < calls_.size()) NextEnd();
  }
  // Waits for the next of the calls to end; how it ended. The coordinator may have got them in another order.
  grpc::Status NextEnd() {
    if (ends_.empty()) {
      ends_.resize(calls_.size());
      for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i]->Finish(&ends_[i], &ends_[i]);
    }
    void* end = nullptr;
    bool ok = false;
    queue_.Next(&end, &ok);
    ++ended_;
    return *static_cast<grpc::Status*>(end);
  }

 private:
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls_;
  std::vector<grpc::Status> ends_;
  std::size_t ended_ = 0;
};

TEST_F(DoorTest, SilentUploadsNeitherBlockDownloadsNorKeepTheirPlaces) {
  const std::string work = AddToken(Role::kWork, "worker-1");
  Start();
  const auto channel = Channel(work);
  const std::string content = "weights", sha = Sha256Hex(content);
  auto stub = v1::ArtifactService::NewStub(channel);
  const auto upload = [&] {
    grpc::ClientContext context;
    v1::UploadArtifactResponse response;
    const auto writer = stub->Upload(&context, &response);
    v1::UploadArtifactRequest header, chunk;
    header.mutable_header()->set_sha256(sha);
    header.mutable_header()->set_bytes(content.size());
    chunk.mutable_chunk()->set_data(content);
    chunk.mutable_chunk()->set_sha256(sha);
    if (writer->Write(header)) writer->Write(chunk);
    writer->WritesDone();
    return writer->Finish();
  };
  ASSERT_TRUE(upload().ok());
  SilentCalls silent(channel, "/inlier.v1.ArtifactService/Upload", ArtifactService::kTransfersMax);
  grpc::ClientContext context;
  v1::DownloadArtifactRequest request;
  request.set_sha256(sha);
  const auto reader = stub->Download(&context, request);
  v1::ArtifactChunk chunk;
  EXPECT_TRUE(reader->Read(&chunk));
  EXPECT_EQ(chunk.data(), content);
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_TRUE(reader->Finish().ok());
  // A silent upload gives its place to one that sends.
  ASSERT_TRUE(Comes([&] { return upload().ok(); }));
  grpc::Status ended = silent.NextEnd();
  // The first upload may have had its place for a moment longer than its caller.
  if (ended.error_code() == StatusCode::RESOURCE_EXHAUSTED) ended = silent.NextEnd();
  EXPECT_THAT(ended, FailsWith(StatusCode::DEADLINE_EXCEEDED, HasSubstr("nothing has come from the caller")));
}

TEST_F(DoorTest, CallerHasSoManyCallsOpenAndNoMore) {
  config_.set_calls_at_once_max(3);
  const std::string alice = AddToken(Role::kSubmit, "alice"), bob = AddToken(Role::kRead, "bob");
  Start();
  const auto channel = Channel(alice);
  {
    SilentCalls silent(channel, kSubmit, 4);
    const auto refused =
        FailsWith(StatusCode::RESOURCE_EXHAUSTED,
                  AllOf(HasSubstr("3 calls of alice are open"), HasSubstr("calls_at_once_max")));
    // One of the four: the coordinator has seen them all.
    EXPECT_THAT(silent.NextEnd(), refused);
    EXPECT_THAT(List(channel), refused);
    EXPECT_TRUE(List(Channel(bob)).ok());
  }
  EXPECT_TRUE(Comes([&] { return List(channel).ok(); })) << "they were never given back";
}

TEST_F(DoorTest, OpenMethodsHoldLittleForCallersThatAreNotKnown) {
  const std::string alice = AddToken(Role::kRead, "alice");
  Start();
  constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  SilentCalls silent(Channel(), kReflection, Access::kOpenMethodsMax);
  const grpc::Slice empty;
  const grpc::ByteBuffer question(&empty, 1);
  const auto health = [&](const std::string& token) {
    return Unary(Channel(token), "/grpc.health.v1.Health/Check", question);
  };
  // Until the coordinator has seen all of them.
  EXPECT_TRUE(Comes([&] { return health("").error_code() == StatusCode::RESOURCE_EXHAUSTED; }));
  EXPECT_TRUE(health(alice).ok());  // A caller with a token has places of its own.
}

TEST_F(DoorTest, WatchEndsWithItsToken) {
  const std::string alice = AddToken(Role::kSubmit, "alice"), bob = AddToken(Role::kRead, "bob");
  Start();
  ASSERT_TRUE(Submit(Channel(alice), SmallSweep("watched", 1)).ok());
  auto request = OfSweep<v1::WatchSweepRequest>("watched");
  grpc::ClientContext context, other_context;
  const auto watch = v1::SweepService::NewStub(Channel(bob))->WatchSweep(&context, request);
  const auto other = v1::SweepService::NewStub(Channel(alice))->WatchSweep(&other_context, request);
  v1::SweepUpdate update;
  ASSERT_TRUE(watch->Read(&update) && other->Read(&update));
  entries_.pop_back();
  WriteTokens();
  while (watch->Read(&update)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  auto cancel = OfSweep<v1::CancelRequest>("watched");
  v1::CancelResponse cancelled;
  grpc::ClientContext cancel_context;
  ASSERT_TRUE(v1::SweepService::NewStub(Channel(alice))->Cancel(&cancel_context, cancel, &cancelled).ok());
  while (other->Read(&update)) {
  }
  EXPECT_TRUE(other->Finish().ok());  // Another's watch lasts until the sweep's end.
}

TEST_F(DoorTest, OneCallerCannotTakeAllWatches) {
  const std::string alice = AddToken(Role::kSubmit, "alice"), bob = AddToken(Role::kRead, "bob");
  Start();
  ASSERT_TRUE(Submit(Channel(alice), SmallSweep("watched", 1)).ok());
  auto request = OfSweep<v1::WatchSweepRequest>("watched");
  struct Watch {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::SweepUpdate>> reader;
    bool Open(v1::SweepService::Stub& stub, const v1::WatchSweepRequest& request) {
      reader = stub.WatchSweep(&context, request);
      v1::SweepUpdate update;
      return reader->Read(&update);
    }
  };
  const auto stub = v1::SweepService::NewStub(Channel(bob));
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < WatchHub::kWatchersOfOneCallerMax; ++i) {
    watches.push_back(std::make_unique<Watch>());
    ASSERT_TRUE(watches.back()->Open(*stub, request)) << i;
  }
  Watch more, others;
  EXPECT_FALSE(more.Open(*stub, request));
  EXPECT_THAT(more.reader->Finish(),
              FailsWith(StatusCode::RESOURCE_EXHAUSTED, HasSubstr("bob has 100 watches open")));
  EXPECT_TRUE(others.Open(*v1::SweepService::NewStub(Channel(alice)), request));
  others.context.TryCancel();
  for (const auto& watch : watches) watch->context.TryCancel();
}

TEST_F(DoorTest, OneCallerHasSoManyWorkersAndSlots) {
  config_.set_workers_per_caller_max(2);
  config_.set_slots_per_caller_max(10);
  const std::string one = AddToken(Role::kWork, "lab"), two = AddToken(Role::kWork, "other");
  Start();
  HandWorker a("a", 4), b("b", 7), c("c", 6), d("d", 1);
  EXPECT_TRUE(Sync(Channel(one), a).ok());
  EXPECT_THAT(Sync(Channel(one), b),
              FailsWith(StatusCode::RESOURCE_EXHAUSTED,
                        AllOf(HasSubstr("the connected workers of lab have 4 of at most 10"),
                              HasSubstr("slots_per_caller_max"))));
  EXPECT_TRUE(Sync(Channel(one), c).ok());
  const grpc::Status workers = Sync(Channel(one), d);
  EXPECT_THAT(workers,
              FailsWith(StatusCode::RESOURCE_EXHAUSTED, HasSubstr("2 workers of lab are connected")));
  EXPECT_TRUE(Sync(Channel(one), a).ok());  // Connected workers stay.
  EXPECT_TRUE(Sync(Channel(two), d).ok());
}

TEST_F(DoorTest, WorkersAreListedInPagesThatAnyClientTakes) {
  Start();
  for (int i = 0; i < 40; ++i) {
    HandWorker worker("w-" + std::to_string(100 + i), 0);
    v1::WorkerSync sync = worker.Sync();
    sync.set_version(Version());
    for (std::uint32_t slot = 0; slot < 1024; ++slot) {
      sync.add_slots()->set_index(slot);
      sync.mutable_slots(static_cast<int>(slot))->set_device(std::string(250, 'd'));
    }
    grpc::ClientContext context;
    v1::CoordinatorSync reply;
    ASSERT_TRUE(v1::WorkerService::NewStub(Channel())->Sync(&context, sync, &reply).ok());
  }
  const auto stub = v1::SweepService::NewStub(
      grpc::CreateChannel(coordinator_->grpc_address(), grpc::InsecureChannelCredentials()));  // Takes 4 MiB.
  v1::ListWorkersRequest request;
  std::set<std::string> seen;
  int pages = 0;
  do {
    grpc::ClientContext context;
    v1::ListWorkersResponse page;
    const grpc::Status status = stub->ListWorkers(&context, request, &page);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (const v1::WorkerStatus& worker : page.workers())
      EXPECT_TRUE(seen.insert(worker.incarnation()).second);
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_GT(pages, 3);
}

}  // namespace
}  // namespace inlier
