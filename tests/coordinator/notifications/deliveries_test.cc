// Delivery from a real store to real receivers: each notification once, in order, though receivers fail.
#include "coordinator/notifications/deliveries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>

#include "coordinator/store/committer.h"
#include "coordinator/store/database.h"
#include "coordinator/store/hook_key.h"
#include "coordinator/store/store.h"
#include "tests/coordinator/notifications/web_receiver.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Result = NotificationTried::Result;

class DeliveriesTest : public testing::Test {
 protected:
  DeliveriesTest() {
    database_ = *Database::Open(folder_.path());
    store_ = std::make_unique<Store>(*database_);
    reader_ = std::make_unique<Reader>(database_->path());
  }
  ~DeliveriesTest() override { Stop(); }

  v1::HookConfig& AddHook(const std::string& url) {
    v1::HookConfig& hook = *config_.mutable_hooks()->add_on_end();
    hook.set_url(url);
    hook.set_timeout_seconds(10);
    return hook;
  }
  void Start() {
    CommitterOptions options;
    options.on_commit = [this](const CommitStats& stats) {
      if (stats.notifications > 0) deliveries_->Poke();
    };
    deliveries_ = std::make_unique<Deliveries>(
        config_, database_->path(),
        DeliveryPorts{.store =
                          [this](NotificationTried change, std::function<void(absl::Status)> done) {
                            ChangeBatch batch;
                            batch.Add(std::move(change));
                            committer_->Submit(std::move(batch), std::move(done));
                          },
                      .observe =
                          [this](const std::string&, std::optional<Result> tried, std::uint64_t) {
                            if (tried == Result::kFailed || tried == Result::kRefused) ++failed_tries_;
                          }});
    committer_ = std::make_unique<Committer>(*store_, std::move(options), nullptr);
    deliveries_->Start();
  }
  void Stop() {
    if (deliveries_ != nullptr) deliveries_->Stop();
    committer_.reset();
    deliveries_.reset();
  }
  // Notifications for the hook, with these bodies; of an event that was so long ago.
  void Notify(const v1::HookConfig& hook, const std::vector<std::string>& bodies,
              std::int64_t hours_ago = 0) {
    ChangeBatch batch;
    for (const std::string& body : bodies) {
      batch.Add(NotificationRow{.number = ++number_,
                                .at = {WallNow().unix_ms - hours_ago * 3'600'000},
                                .event = "end",
                                .sweep = SweepId(1),
                                .hook = HookKey("end", hook),
                                .body = body});
    }
    if (committer_ == nullptr) {
      EXPECT_TRUE(store_->Apply(batch).ok());
      return;
    }
    committer_->Submit(std::move(batch), nullptr);
    committer_->Flush();
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
  // Waits up to 20 s until the rows are so.
  void ExpectRows(const std::string& rows) {
    for (int i = 0; i < 1000 && Rows() != rows; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(Rows(), rows);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
  v1::CoordinatorConfig config_;
  std::unique_ptr<Deliveries> deliveries_;
  std::unique_ptr<Committer> committer_;
  std::uint64_t number_ = 0;
  std::atomic<int> failed_tries_{0};
};

TEST_F(DeliveriesTest, WhatWaitsAtTheStartAndWhatComesIsDeliveredInOrderAndOnce) {
  const WebReceiver receiver;
  const v1::HookConfig hook = AddHook(receiver.url());
  Notify(hook, {"1", "2"});
  Start();
  Notify(hook, {"3"});
  Notify(hook, {"4", "5"});
  ExpectRows("1 DELIVERED 1\n2 DELIVERED 1\n3 DELIVERED 1\n4 DELIVERED 1\n5 DELIVERED 1\n");
  Stop();
  Start();  // As after a restart.
  Notify(hook, {"6"});
  ASSERT_TRUE(receiver.WaitFor(6));
  EXPECT_THAT(receiver.bodies(), ElementsAre("1", "2", "3", "4", "5", "6"));
}

TEST_F(DeliveriesTest, AReceiverThatWasDownGetsEachOnceInOrder) {
  std::uint16_t port = 0;
  v1::HookConfig hook;
  {
    const WebReceiver receiver;
    port = receiver.port();
    hook = AddHook(receiver.url());
  }
  Start();
  Notify(hook, {"1", "2", "3"});
  while (failed_tries_ < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const WebReceiver receiver([](const WebReceiver::Request&, WebReceiver::Response&) { return 200; }, "", "",
                             port);
  ASSERT_TRUE(receiver.WaitFor(3));
  ExpectRows("1 DELIVERED 2\n2 DELIVERED 1\n3 DELIVERED 1\n");
  EXPECT_THAT(receiver.bodies(), ElementsAre("1", "2", "3"));
}

TEST_F(DeliveriesTest, OneThatHangsDoesNotDelayTheOthers) {
  const WebReceiver silent(0), receiver;
  const v1::HookConfig hangs = AddHook(silent.url()), takes = AddHook(receiver.url());
  Start();
  Notify(hangs, {"1"});
  ASSERT_TRUE(silent.WaitFor(1));
  Notify(takes, {"2", "3"});
  ExpectRows("1 WAITING 0\n2 DELIVERED 1\n3 DELIVERED 1\n");  // Well before the 10 s of the first.
}

TEST_F(DeliveriesTest, OneThatIsRefusedGoesBehindTheOthers) {
  const WebReceiver receiver([](const WebReceiver::Request& request, WebReceiver::Response&) {
    return request.body() == "1" ? 400 : 200;
  });
  const v1::HookConfig hook = AddHook(receiver.url());
  Notify(hook, {"1", "2", "3"});
  Start();
  ASSERT_TRUE(receiver.WaitFor(4));
  EXPECT_THAT(receiver.bodies(), ElementsAre("1", "2", "3", "1"));
}

TEST_F(DeliveriesTest, TriesEndAfterItsTimeAndEachHasOne) {
  const WebReceiver receiver(500);
  v1::HookConfig& hook = AddHook(receiver.url());
  hook.set_give_up_hours(2);
  Notify(hook, {"1", "2"}, /*hours_ago=*/3);
  Notify(hook, {"3"}, /*hours_ago=*/1);
  Start();
  ExpectRows("1 GIVEN_UP 1\n2 GIVEN_UP 1\n3 WAITING 1\n");
  EXPECT_THAT(Text(reader_->Select("SELECT error FROM notification WHERE id = 1")->rows[0][0]),
              HasSubstr("status 500"));
}

TEST_F(DeliveriesTest, AStopEndsATryThatHangsAndTheNextStartRepeatsIt) {
  std::atomic<int> status{0};
  const WebReceiver receiver(
      [&](const WebReceiver::Request&, WebReceiver::Response&) { return status.load(); });
  const v1::HookConfig hook = AddHook(receiver.url());
  Start();
  Notify(hook, {"1"});
  ASSERT_TRUE(receiver.WaitFor(1));
  Stop();
  EXPECT_EQ(Rows(), "1 WAITING 0\n");
  status = 200;
  Start();
  ExpectRows("1 DELIVERED 1\n");
}

TEST_F(DeliveriesTest, GatheringNotificationsAreNotSent) {
  const WebReceiver receiver;
  const v1::HookConfig hook = AddHook(receiver.url());
  ChangeBatch batch;
  batch.Add(NotificationRow{.number = ++number_,
                            .event = "end",
                            .sweep = SweepId(1),
                            .hook = HookKey("end", hook),
                            .body = "1",
                            .gathering = true});
  ASSERT_TRUE(store_->Apply(batch).ok());
  Start();
  Notify(hook, {"2"});
  ExpectRows("1 GATHERING 0\n2 DELIVERED 1\n");
}

TEST_F(DeliveriesTest, ACommandGetsIt) {
  v1::HookConfig& hook = *config_.mutable_hooks()->add_on_end();
  hook.set_command((folder_ / "hook").string());
  std::ofstream(hook.command()) << "#!/bin/sh\ncat >>" << (folder_ / "got").string() << "\necho >>"
                                << (folder_ / "got").string() << "\n";
  ASSERT_EQ(::chmod(hook.command().c_str(), 0700), 0);
  Notify(hook, {R"({"id":1})", R"({"id":2})"});
  Start();
  ExpectRows("1 DELIVERED 1\n2 DELIVERED 1\n");
  std::ifstream got(folder_ / "got");
  std::string text((std::istreambuf_iterator<char>(got)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, "{\"id\":1}\n{\"id\":2}\n");
}

TEST_F(DeliveriesTest, ATestOfTheHooksNamesThoseThatDoNotTakeIt) {
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
