// Delivery from a real store to real receivers: each notification once, in order, though receivers fail.
#include "notify/notify_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>

#include "coordinator/store/committer.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "nlohmann/json.hpp"
#include "tests/notify/web_receiver.h"
#include "tests/support/comes.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class NotifyServiceTest : public testing::Test {
 protected:
  NotifyServiceTest() {
    database_ = *Database::Open(folder_.path());
    store_ = std::make_unique<Store>(*database_);
    reader_ = std::make_unique<Reader>(database_->path());
  }
  ~NotifyServiceTest() override { Stop(); }

  v1::HookConfig& AddHook(const std::string& url) {
    v1::HookConfig& hook = *config_.mutable_hooks()->add_on_end();
    hook.set_url(url);
    hook.set_timeout_seconds(10);
    return hook;
  }
  void Start() {
    committer_ = std::make_unique<Committer>(*store_, CommitterOptions(), nullptr);
    service_ = std::make_unique<NotifyService>(
        config_, "head", database_->path(), *committer_, Notifier::Ports(),
        [this](const std::string&, std::optional<TryOutcome::Kind> tried, std::uint64_t) {
          if (tried == TryOutcome::Kind::kFailed || tried == TryOutcome::Kind::kRefused) ++failed_tries_;
        });
    service_->Start();
  }
  void Stop() {
    service_.reset();
    committer_.reset();
  }
  // So many more sweeps have ended, so long ago.
  void End(int sweeps, std::int64_t hours_ago = 0) {
    const WallTime at{WallNow().unix_ms - hours_ago * 3'600'000};
    ChangeBatch batch;
    for (; sweeps > 0; --sweeps) {
      batch.Add(ServiceStatement{
          "INSERT INTO sweep (id, name, spec, state, points, trials, submitted_ms, ended_ms) "
          "VALUES (?1, 'gamma', '{}', 'COMPLETE', 1, 1, 0, ?2)",
          {++sweep_, at.unix_ms}});
      batch.Add(EventRow{
          .at = at, .kind = "sweep_ended", .sweep = SweepId(sweep_), .worker = "", .message = "COMPLETE"});
    }
    committer_->Submit(std::move(batch), nullptr);
    committer_->Flush();
  }
  // The numbers of the sweeps of which it got a notification, in order.
  static std::vector<std::string> Got(const WebReceiver& receiver) {
    std::vector<std::string> sweeps;
    for (const std::string& body : receiver.bodies())
      sweeps.push_back(nlohmann::json::parse(body)["sweep"]["id"].get<std::string>().substr(2));
    return sweeps;
  }
  std::string Rows() {
    std::string text;
    const auto found = reader_->Select("SELECT id, state, tries FROM notification ORDER BY id");
    if (!found.ok()) return found.status().ToString();
    for (const auto& row : found->rows)
      text +=
          std::to_string(Integer(row[0])) + " " + Text(row[1]) + " " + std::to_string(Integer(row[2])) + "\n";
    return text;
  }
  // Waits until the rows are so.
  void ExpectRows(const std::string& rows) {
    EXPECT_TRUE(Comes([&] { return Rows() == rows; })) << Rows();
  }

  TemporaryFolder folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
  v1::CoordinatorConfig config_;
  std::unique_ptr<NotifyService> service_;
  std::unique_ptr<Committer> committer_;
  std::int64_t sweep_ = 0;
  std::atomic<int> failed_tries_{0};
};

TEST_F(NotifyServiceTest, WhatWaitsAtTheStartAndWhatComesIsDeliveredInOrderAndOnce) {
  const WebReceiver receiver;
  AddHook(receiver.url());
  Start();
  End(1);
  End(2);
  ExpectRows("1 DELIVERED 1\n2 DELIVERED 1\n3 DELIVERED 1\n");
  Stop();
  Start();  // As after a restart.
  End(1);
  ASSERT_TRUE(receiver.WaitFor(4));
  EXPECT_THAT(Got(receiver), ElementsAre("1", "2", "3", "4"));
}

TEST_F(NotifyServiceTest, AReceiverThatWasDownGetsEachOnceInOrder) {
  const std::uint16_t port = WebReceiver().port();
  AddHook("http://127.0.0.1:" + std::to_string(port));
  Start();
  End(3);
  EXPECT_TRUE(Comes([this] { return failed_tries_ >= 1; }));
  const WebReceiver receiver([](const WebReceiver::Request&, WebReceiver::Response&) { return 200; }, "", "",
                             port);
  ASSERT_TRUE(receiver.WaitFor(3));
  ExpectRows("1 DELIVERED 2\n2 DELIVERED 1\n3 DELIVERED 1\n");
  EXPECT_THAT(Got(receiver), ElementsAre("1", "2", "3"));
}

TEST_F(NotifyServiceTest, OneThatHangsDoesNotDelayTheOthers) {
  const WebReceiver silent(0), receiver;
  AddHook(silent.url());
  AddHook(receiver.url());
  Start();
  End(1);
  ASSERT_TRUE(silent.WaitFor(1));
  End(1);
  // Well before the 10 s of the first.
  ExpectRows("1 WAITING 0\n2 DELIVERED 1\n3 WAITING 0\n4 DELIVERED 1\n");
}

TEST_F(NotifyServiceTest, OneThatIsRefusedGoesBehindTheOthers) {
  const WebReceiver receiver([](const WebReceiver::Request& request, WebReceiver::Response&) {
    return request.body().find("\"s-1\"") != std::string::npos ? 400 : 200;
  });
  AddHook(receiver.url());
  Start();
  End(3);
  ASSERT_TRUE(receiver.WaitFor(4));
  EXPECT_THAT(Got(receiver), ElementsAre("1", "2", "3", "1"));
}

TEST_F(NotifyServiceTest, TriesEndAfterItsTimeAndEachHasOne) {
  const WebReceiver receiver(500);
  AddHook(receiver.url()).set_give_up_hours(2);
  Start();
  End(2, /*hours_ago=*/3);
  End(1, /*hours_ago=*/1);
  ExpectRows("1 GIVEN_UP 1\n2 GIVEN_UP 1\n3 WAITING 1\n");
  EXPECT_THAT(Text(reader_->Select("SELECT error FROM notification WHERE id = 1")->rows[0][0]),
              HasSubstr("status 500"));
}

TEST_F(NotifyServiceTest, AStopEndsATryThatHangsAndTheNextStartRepeatsIt) {
  std::atomic<int> status{0};
  const WebReceiver receiver(
      [&](const WebReceiver::Request&, WebReceiver::Response&) { return status.load(); });
  AddHook(receiver.url());
  Start();
  End(1);
  ASSERT_TRUE(receiver.WaitFor(1));
  Stop();
  EXPECT_EQ(Rows(), "1 WAITING 0\n");
  status = 200;
  Start();
  ExpectRows("1 DELIVERED 1\n");
}

TEST_F(NotifyServiceTest, ACommandGetsIt) {
  v1::HookConfig& hook = *config_.mutable_hooks()->add_on_end();
  hook.set_command((folder_ / "hook").string());
  std::ofstream(hook.command()) << "#!/bin/sh\ncat >>" << (folder_ / "got").string() << "\necho >>"
                                << (folder_ / "got").string() << "\n";
  ASSERT_EQ(::chmod(hook.command().c_str(), 0700), 0);
  Start();
  End(2);
  ExpectRows("1 DELIVERED 1\n2 DELIVERED 1\n");
  std::ifstream got(folder_ / "got");
  int lines = 0;
  for (std::string line; std::getline(got, line);)
    EXPECT_EQ(nlohmann::json::parse(line)["sweep"]["id"], "s-" + std::to_string(++lines));
  EXPECT_EQ(lines, 2);
}

TEST_F(NotifyServiceTest, TheNextOfAHookIsFoundByAnIndex) {
  for (const char* sql : {"SELECT id, at_ms, body FROM notification WHERE hook = 'a' AND state = 'WAITING' "
                          "ORDER BY refusals, id LIMIT 1",
                          "SELECT count(*) FROM notification WHERE hook = 'a' AND state = 'WAITING'"}) {
    const auto plan = reader_->Select(std::string("EXPLAIN QUERY PLAN ") + sql);
    ASSERT_TRUE(plan.ok() && plan->rows.size() == 1) << plan.status();
    EXPECT_THAT(Text(plan->rows[0][3]), HasSubstr("notification_waiting")) << sql;
  }
}

TEST_F(NotifyServiceTest, ATestOfTheHooksNamesThoseThatDoNotTakeIt) {
  const WebReceiver takes, refuses(403);
  AddHook(takes.url());
  AddHook(refuses.url());
  testing::internal::CaptureStdout();
  const absl::Status status = TestHooks(config_);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::string(status.message()), "1 of 2 hooks did not take the test");
  EXPECT_THAT(printed, HasSubstr("): taken\n"));
  EXPECT_THAT(printed, HasSubstr("): the receiver answered with status 403\n"));
  EXPECT_THAT(takes.bodies().at(0), HasSubstr(R"("event":"test")"));
  EXPECT_THAT(std::string(TestHooks(v1::CoordinatorConfig()).message()),
              HasSubstr("the configuration has none"));
}

}  // namespace
}  // namespace inlier
