// The fleet's rows on a real store, and what a start reads of them.
#include "fleet/store.h"

#include <gtest/gtest.h>

#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

TEST(FleetStoreTest, WhatIsStoredIsReadBack) {
  const TemporaryFolder folder;
  const auto database = Database::Open(folder.path()).value();
  Store store(*database);
  Reader reader(database->path());
  const auto load = [&] { return LoadFleet(reader, folder.path(), database->id()); };
  EXPECT_FALSE(load()->row);
  EXPECT_EQ(load()->next_submission, 1u);

  using State = FleetSubmissionRow::State;
  FleetRow row{.id = "3fa9c1d2", .config_json = "{}", .maximum = 3, .stopped = true, .home = "/gone"};
  FleetSubmissionRow taken{.number = 1, .jobs = 2, .at = {5}};
  FleetSubmissionRow over{
      .number = 2, .jobs = 1, .state = State::kLost, .message = "why", .at = {6}, .ended_at = WallTime{7}};
  ASSERT_TRUE(store.Apply(BatchOf({row, taken, over})).ok());
  taken.state = State::kTaken;
  taken.job = "17";
  ASSERT_TRUE(store.Apply(BatchOf({taken})).ok());

  const auto stored = load().value();
  EXPECT_EQ(stored.row->id, "3fa9c1d2");
  EXPECT_FALSE(stored.row->minimum);
  EXPECT_EQ(stored.row->maximum, 3u);
  EXPECT_TRUE(stored.row->stopped);
  EXPECT_EQ(stored.row->home, "/gone");
  EXPECT_FALSE(stored.copied);
  ASSERT_EQ(stored.submissions.size(), 1u);
  EXPECT_EQ(stored.submissions[0].state, State::kTaken);
  EXPECT_EQ(stored.submissions[0].job, "17");
  EXPECT_EQ(stored.submissions[0].jobs, 2u);
  EXPECT_EQ(stored.next_submission, 3u);
}

}  // namespace
}  // namespace inlier
