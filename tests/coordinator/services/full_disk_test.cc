// A disk without space: every call is answered at once, looks show the stored state, and work continues when there is space.
#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "inlier/v1/artifact_service.grpc.pb.h"
#include "tests/coordinator/services/fixture.h"
#include "tests/support/comes.h"
#include "tests/support/small_disk.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class FullDiskTest : public CoordinatorTest {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "mounting a small disk needs root";
    v1::CoordinatorConfig config = Config();
    config.set_state_dir((disk_.path() / "state").string());
    StartCoordinator(config);
  }
  void TearDown() override { coordinator_.reset(); }

  struct Answer {
    grpc::Status status;
    std::string notice;  // Of the coordinator, with the answer.
  };
  // `call(context)`, which must be answered at once.
  static Answer AnswerOf(const std::function<grpc::Status(grpc::ClientContext*)>& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + milliseconds(20'000));
    const auto began = std::chrono::steady_clock::now();
    Answer answer{call(&context), ""};
    // One, on a machine that is not busy.
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(2000));
    const auto& trailing = context.GetServerTrailingMetadata();
    if (const auto notice = trailing.find(kNoticeHeader); notice != trailing.end())
      answer.notice = std::string(notice->second.begin(), notice->second.end());
    return answer;
  }

  template <typename Request, typename Response>
  Answer AnswerNow(Method<Request, Response> method, const Request& request, Response* response = nullptr) {
    Response ignored;
    return AnswerOf([&](grpc::ClientContext* context) {
      return (sweeps_.get()->*method)(context, request, response == nullptr ? &ignored : response);
    });
  }

  Answer SubmitNow(const std::string& name, const std::string& request_id) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = SmallSweep(name, 100);
    request.set_request_id(request_id);
    return AnswerNow(&Stub::SubmitSweep, request);
  }
  std::string Sweeps(Answer* answer = nullptr) {
    v1::ListSweepsResponse response;
    const Answer got = AnswerNow(&Stub::ListSweeps, {}, &response);
    EXPECT_TRUE(got.status.ok()) << got.status.error_message();
    if (answer != nullptr) *answer = got;
    std::string names;
    for (const v1::SweepStatus& sweep : response.sweeps()) names += sweep.name() + " ";
    return names;
  }
  // Submits until one finds no space, and is refused; returns the names of the others, and one of it in `last`.
  std::string FillByWork(std::string* last) {
    disk_.Fill();
    for (int i = 0; i < 50; ++i) {
      const std::string before = Sweeps();
      *last = "full-" + std::to_string(i);
      if (!SubmitNow(*last, *last).status.ok()) return before;
    }
    ADD_FAILURE() << "the disk is never full";
    return "";
  }

  SmallDisk disk_;
};

constexpr char kReason[] = "the coordinator cannot store anything now: writing to ";

TEST_F(FullDiskTest, EveryCallIsAnsweredAtOnceAndNothingAcknowledgedIsLost) {
  HandWorker worker = MakeWorker("w", 1);
  Submit(SmallSweep("stored", 2), "stored");
  Sync(worker);
  std::string last;
  const std::string stored = FillByWork(&last);
  const auto refused = [](const Answer& answer, const std::string& what) {
    EXPECT_THAT(answer.status,
                FailsWith(grpc::StatusCode::UNAVAILABLE,
                          AllOf(HasSubstr(kReason), HasSubstr("free space on the file system"))))
        << what;
    EXPECT_THAT(answer.notice, HasSubstr(kReason)) << what;
  };
  // A change that was decided and is not stored has another message than one that was refused.
  EXPECT_THAT(SubmitNow("refused", "refused").status.error_message(),
              HasSubstr("nothing was changed; ask again then"));
  refused(SubmitNow("refused", "refused"), "submit");
  Answer seen;
  EXPECT_EQ(Sweeps(&seen), stored);
  EXPECT_THAT(stored, AllOf(HasSubstr("stored "), Not(HasSubstr(last + " "))));
  EXPECT_THAT(seen.notice, HasSubstr(kReason));

  refused(AnswerNow(&Stub::Cancel, OfSweep<v1::CancelRequest>("stored")), "cancel");
  refused(AnswerNow(&Stub::PauseSweep, OfSweep<v1::PauseSweepRequest>("stored")), "pause");
  v1::DrainWorkerRequest drain;
  drain.set_worker("worker-w");
  refused(AnswerNow(&Stub::DrainWorker, drain), "drain");

  v1::ListWorkersResponse workers;
  EXPECT_TRUE(AnswerNow(&Stub::ListWorkers, {}, &workers).status.ok());
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_TRUE(workers.workers(0).connected());
  EXPECT_TRUE(AnswerNow(&Stub::Explain, OfSweep<v1::ExplainRequest>("stored")).status.ok());
  v1::ListTrialsResponse trials;
  EXPECT_TRUE(AnswerNow(&Stub::ListTrials, OfSweep<v1::ListTrialsRequest>("stored"), &trials).status.ok());
  EXPECT_EQ(trials.trials_size(), 2);
  EXPECT_TRUE(AnswerNow(&Stub::ListFleet, {}).status.ok());
  const auto artifacts = v1::ArtifactService::NewStub(channel_);
  v1::CollectResponse collected;  // It makes space.
  EXPECT_TRUE(
      AnswerOf([&](auto* context) { return artifacts->Collect(context, {}, &collected); }).status.ok());

  disk_.Free();
  EXPECT_TRUE(Comes([&] { return Sweeps().find(last + " ") != std::string::npos; }));
  EXPECT_THAT(Sweeps(&seen), AllOf(HasSubstr(last + " "), HasSubstr("stored "), Not(HasSubstr("refused"))));
  EXPECT_EQ(seen.notice, "");
  EXPECT_TRUE(SubmitNow(last, last).status.ok());  // The same request: it was taken once.
  EXPECT_TRUE(SubmitNow("after", "after").status.ok());
}

TEST_F(FullDiskTest, AWatcherSeesWhatIsStoredWithTheReasonAndLaterTheRest) {
  Submit(SmallSweep("stored", 2), "stored");
  std::string last;
  FillByWork(&last);
  auto request = OfSweep<v1::WatchSweepRequest>("stored");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + milliseconds(20'000));
  const auto reader = sweeps_->WatchSweep(&context, request);
  v1::SweepUpdate update;
  ASSERT_TRUE(reader->Read(&update));
  ASSERT_GE(update.status().warnings_size(), 1);
  EXPECT_THAT(update.status().warnings(update.status().warnings_size() - 1), HasSubstr(kReason));
  disk_.Free();
  ASSERT_TRUE(reader->Read(&update));
  for (const std::string& warning : update.status().warnings()) EXPECT_THAT(warning, Not(HasSubstr(kReason)));
  context.TryCancel();

  disk_.Fill();
  request.set_sweep(last);  // Now it is there.
  grpc::ClientContext another;
  const auto second = sweeps_->WatchSweep(&another, request);
  EXPECT_TRUE(second->Read(&update));
  another.TryCancel();
}

// Another program holds the lock of the database, for example a browser of SQLite.
TEST_F(FullDiskTest, ALockOfAnotherProgramIsNamedWithinASecondAndWaitedFor) {
  Submit(SmallSweep("stored", 2), "stored");
  SQLite::Database other((disk_.path() / "state" / "inlier.db").string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  const Answer first = SubmitNow("waits", "waits");
  EXPECT_THAT(
      first.status,
      FailsWith(grpc::StatusCode::UNAVAILABLE,
                AllOf(HasSubstr(kReason), HasSubstr("another program holds a lock on the database: end it"),
                      HasSubstr("this change is decided, and is lost if the coordinator ends before"))));
  EXPECT_EQ(Sweeps(), "stored ");
  other.exec("ROLLBACK");
  EXPECT_TRUE(Comes([&] { return Sweeps().find("waits ") != std::string::npos; }));
}

// Callers without a token may learn that the coordinator is not ready, and not where its files are.
TEST_F(FullDiskTest, ReadinessNamesNoPath) {
  EXPECT_THAT(Get("/readyz"), HasSubstr("ready"));
  std::string last;
  FillByWork(&last);
  EXPECT_THAT(Get("/readyz"), AllOf(HasSubstr(" 503 "), HasSubstr("see the coordinator's log"),
                                    Not(HasSubstr(disk_.path().string()))));
  disk_.Free();
}

}  // namespace
}  // namespace inlier
