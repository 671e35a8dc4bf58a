// A damaged file that SQLite itself does not notice gives a clear error when it is loaded; it used to end the
// process by a failed check or an exception while the orchestrator took over.
#include <SQLiteCpp/SQLiteCpp.h>

#include "coordinator/store/snapshot.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

class SnapshotCheckTest : public StoreTest {
 protected:
  void SetUp() override {
    MustAddTrial();
    MustApply(Start(1, 1));
    ASSERT_TRUE(store_->Load().ok()) << store_->Load().status();
  }
  // The error of loading after `sql` was run without the schema's rules.
  std::string AfterEditing(const std::string& sql) {
    SQLite::Database& connection = database_->connection();
    connection.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
    SQLite::Statement triggers(
        connection,
        "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE type = 'trigger'");
    triggers.executeStep();
    const std::string drop = triggers.getColumn(0).getString();
    triggers.reset();
    connection.exec(drop);
    connection.exec(sql);
    const auto snapshot = store_->Load();
    if (snapshot.ok()) return "OK";
    EXPECT_TRUE(absl::IsDataLoss(snapshot.status())) << snapshot.status();
    EXPECT_THAT(std::string(snapshot.status().message()), HasSubstr("restore inlier.db from a backup"));
    return std::string(snapshot.status().message());
  }
};

TEST_F(SnapshotCheckTest, TrialWithoutItsSweepIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE trial SET sweep = 9"), HasSubstr("t-1 belongs to s-9"));
}
TEST_F(SnapshotCheckTest, RowThatIsMissingIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE trial SET id = 3"), HasSubstr("t-1 is missing: the next is t-3"));
  EXPECT_THAT(AfterEditing("DELETE FROM stage WHERE id = 1"), HasSubstr("st-1 is missing"));
}
TEST_F(SnapshotCheckTest, IdFarBeyondTheNextIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET id = 4000000001 WHERE id = 2"),
              HasSubstr("st-2 is missing: the next is st-4000000001"));
}
TEST_F(SnapshotCheckTest, TrialWhoseStagesDoNotBelongTogetherIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE trial SET evaluate_stage = 1"), HasSubstr("t-1 has stages"));
}
TEST_F(SnapshotCheckTest, EvaluationOfNoTrainingIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET train_stage = 2 WHERE id = 2"),
              HasSubstr("st-2 has the train stage st-2"));
}
TEST_F(SnapshotCheckTest, LiveAttemptOfAStageThatDoesNotRunIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET state = 'FAILED' WHERE id = 1"),
              HasSubstr("attempt 1 is live although st-1"));
}
TEST_F(SnapshotCheckTest, LiveEvaluationBeforeItsTrainingHasAModelIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE attempt SET stage = 2"),
              HasSubstr("attempt 1 is live although the training st-1, which st-2 needs, has not succeeded"));
}
TEST_F(SnapshotCheckTest, StartFromNoEarlierTrainingIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET start_stage = 1 WHERE id = 1"),
              HasSubstr("st-1 starts from st-1, which is no training before it"));
  EXPECT_THAT(
      AfterEditing("UPDATE stage SET start_stage = NULL; UPDATE stage SET start_stage = 1 WHERE id = 2"),
      HasSubstr("st-2 starts from st-1, which is no training before it"));
}
TEST_F(SnapshotCheckTest, FinishedModelThatIsNoDigestIsNamed) {
  MustApply(Checkpoint(1, 200, true));
  EXPECT_THAT(AfterEditing("UPDATE artifact SET sha256 = '../model'"),
              HasSubstr("the final checkpoint of attempt 1 has no SHA-256"));
}
TEST_F(SnapshotCheckTest, LiveAttemptOfNoSweepIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE attempt SET sweep = 9"),
              HasSubstr("attempt 1 is charged to s-9, which is not there"));
}
TEST_F(SnapshotCheckTest, RequestOutOfItsOrderIsNamed) {
  EXPECT_THAT(
      AfterEditing(
          "INSERT INTO request VALUES (-7, 'a', 'Cancel', '', x'', 0), (3, 'b', 'Cancel', '', x'', 0)"),
      HasSubstr("is there twice or has no number"));
}
TEST_F(SnapshotCheckTest, FilesThatAreNamedTwiceAreNamed) {
  EXPECT_THAT(AfterEditing("UPDATE data SET digest = printf('%064d', 0)"),
              HasSubstr("are there twice, or not at all"));
}
TEST_F(SnapshotCheckTest, SpecificationThatIsNoObjectIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET spec = '7' WHERE id = 2"),
              HasSubstr("st-2 has a specification that is no JSON object"));
}
TEST_F(SnapshotCheckTest, FingerprintThatIsNoneIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE stage SET fingerprint = X'0f' WHERE id = 2"),
              HasSubstr("st-2 has no SHA-256 as its fingerprint"));
}
TEST_F(SnapshotCheckTest, TrainedModelThatIsNoDigestIsNamed) {
  MustApply(Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
  EXPECT_THAT(AfterEditing("UPDATE stage SET checkpoint = NULL WHERE id = 1"),
              HasSubstr("st-1 has no SHA-256 as its checkpoint"));
}
TEST_F(SnapshotCheckTest, CounterThatCannotGrowIsNamed) {
  EXPECT_THAT(AfterEditing("UPDATE meta SET value = 9223372036854775807"), HasSubstr("the next token is"));
}

}  // namespace
}  // namespace inlier
