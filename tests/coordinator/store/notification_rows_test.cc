// Rows of notifications: what is delivered next, what is read back after a start, what is removed.
#include <SQLiteCpp/SQLiteCpp.h>

#include "coordinator/store/hook_key.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Result = NotificationTried::Result;

class NotificationRowsTest : public StoreTest {
 protected:
  static NotificationRow Row(std::uint64_t number, const std::string& hook = "end /a") {
    return {.number = number,
            .at = {1000 + static_cast<std::int64_t>(number)},
            .event = "end",
            .sweep = SweepId(1),
            .hook = hook,
            .body = R"({"id":"n"})"};
  }
  static NotificationTried Tried(std::uint64_t number, Result result) {
    NotificationTried change{.number = number, .result = result, .at = {5000}};
    if (result != Result::kDelivered) change.error = "no answer";
    if (result == Result::kFailed || result == Result::kRefused) change.next_try = WallTime{6000};
    return change;
  }
};

TEST_F(NotificationRowsTest, TriesAreKeptInTheRowAndPeopleSeeThem) {
  MustApply(Row(1), Row(2));
  MustApply(Tried(1, Result::kFailed));
  MustApply(Tried(1, Result::kRefused), Tried(2, Result::kDelivered));
  EXPECT_THAT(Rows("SELECT id, event, sweep_id, trial, hook, state, tries, error, next_try_at, ended_at FROM "
                   "notifications"),
              ElementsAre("n-1-1001|end|s-1|NULL|end /a|WAITING|2|no answer|1970-01-01T00:00:06.000Z|NULL",
                          "n-2-1002|end|s-1|NULL|end /a|DELIVERED|1||NULL|1970-01-01T00:00:05.000Z"));
  EXPECT_EQ(NotificationId(1, {1001}), "n-1-1001");
  MustApply(Tried(1, Result::kGivenUp));
  EXPECT_THAT(Rows("SELECT state, tries, error FROM notifications WHERE number = 1"),
              ElementsAre("GIVEN_UP|3|no answer"));
  // It has ended: nothing changes it any more.
  MustApply(Tried(2, Result::kFailed));
  EXPECT_THAT(Rows("SELECT state, tries FROM notifications WHERE number = 2"), ElementsAre("DELIVERED|1"));
}

TEST_F(NotificationRowsTest, AStartReadsBackWhatItNeeds) {
  MustApply(Sweep(1));
  NotificationRow gathering = Row(3, "failure /a"), lasting = Row(4, "no_worker /a");
  gathering.gathering = true;
  gathering.trial = TrialId(7);
  lasting.lasts = true;
  MustApply(Row(1), Row(2, "end /b"), gathering, lasting);
  MustApply(Tried(2, Result::kDelivered), Tried(4, Result::kDelivered));
  Reopen();
  const auto snapshot = store_->Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->next_notification, 5u);
  EXPECT_THAT(snapshot->waiting_hooks, ElementsAre("end /a", "failure /a"));
  EXPECT_THAT(snapshot->lasting, ElementsAre(SweepId(1)));
  ASSERT_EQ(snapshot->gathering.size(), 1u);
  EXPECT_EQ(snapshot->gathering[0].number, 3u);
  EXPECT_EQ(snapshot->gathering[0].trial, TrialId(7));
  EXPECT_EQ(snapshot->gathering[0].body, gathering.body);

  MustApply(ConditionEnded{.sweep = SweepId(1)});
  EXPECT_THAT(store_->Load()->lasting, IsEmpty());
}

TEST_F(NotificationRowsTest, AGatheringRowIsWrittenAgainWithMoreInIt) {
  NotificationRow row = Row(1);
  row.gathering = true;
  MustApply(row);
  row.body = R"({"failures":2})";
  MustApply(row);
  EXPECT_THAT(Rows("SELECT state, body FROM notifications"), ElementsAre(R"(GATHERING|{"failures":2})"));
  row.gathering = false;
  MustApply(row);
  EXPECT_THAT(Rows("SELECT state, body FROM notifications"), ElementsAre(R"(WAITING|{"failures":2})"));
}

TEST_F(NotificationRowsTest, TheLatestThatHaveEndedAreKeptAndAllThatWait) {
  for (const std::uint64_t number : {1u, 2u, 3u, 4u}) MustApply(Row(number));
  NotificationRow lasting = Row(5);
  lasting.lasts = true;
  MustApply(lasting, Tried(1, Result::kDelivered), Tried(2, Result::kGivenUp), Tried(4, Result::kDelivered),
            Tried(5, Result::kDelivered));
  MustApply(Row(kNotificationsKept + 2));
  EXPECT_THAT(Rows("SELECT number, state FROM notifications"),
              ElementsAre("3|WAITING", "4|DELIVERED", "5|DELIVERED",
                          std::to_string(kNotificationsKept + 2) + "|WAITING"));
  MustApply(Row(kNotificationsKept + 10));
  EXPECT_THAT(Rows("SELECT number FROM notifications WHERE state = 'DELIVERED'"), ElementsAre("5"));
  MustApply(ConditionEnded{.sweep = SweepId(1)}, Row(kNotificationsKept + 11));
  EXPECT_THAT(Rows("SELECT number FROM notifications WHERE state = 'DELIVERED'"), IsEmpty());
}

TEST_F(NotificationRowsTest, TheNextOfAHookIsFoundByAnIndex) {
  for (const char* sql : {"SELECT id, at_ms, body FROM notification WHERE hook = 'a' AND state = 'WAITING' "
                          "ORDER BY refusals, id LIMIT 1",
                          "SELECT count(*) FROM notification WHERE hook = 'a' AND state = 'WAITING'"}) {
    SQLite::Statement plan(database_->connection(), std::string("EXPLAIN QUERY PLAN ") + sql);
    ASSERT_TRUE(plan.executeStep());
    EXPECT_THAT(plan.getColumn(3).getString(), ::testing::HasSubstr("notification_waiting")) << sql;
    EXPECT_FALSE(plan.executeStep());
  }
}

TEST_F(NotificationRowsTest, TheNameOfAReceiverHidesThePathOfItsUrl) {
  v1::HookConfig hook;
  hook.set_command("/opt/notify");
  EXPECT_EQ(HookKey("end", hook), "end /opt/notify");
  hook.Clear();
  hook.set_url("https://chat.example:8443/hooks/secret");
  const std::string key = HookKey("failure", hook);
  EXPECT_THAT(key, ::testing::MatchesRegex("failure https://chat.example:8443 \\([0-9a-f]+\\)"));
  hook.set_url("https://chat.example:8443/hooks/other");
  EXPECT_NE(HookKey("failure", hook), key);
  hook.set_url("https://chat.example?secret");
  EXPECT_THAT(HookKey("end", hook), ::testing::StartsWith("end https://chat.example ("));
}

}  // namespace
}  // namespace inlier
