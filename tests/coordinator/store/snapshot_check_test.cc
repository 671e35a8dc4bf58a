// A damaged file that SQLite itself does not notice gives a clear error when it is loaded; it used to end the
// process by a failed check or an exception while the orchestrator took over.
#include "coordinator/store/snapshot.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

class SnapshotCheckTest : public StoreTest {
 protected:
  void SetUp() override {
    MustAddTrial();
    MustApply(Start(1, 1));
    ASSERT_THAT(store_->Load(), IsOk());
  }
  // The error of loading after `sql` was run without the schema's rules.
  std::string AfterEditing(const std::string& sql) {
    Damage(sql);
    const auto snapshot = store_->Load();
    if (snapshot.ok()) return "OK";
    EXPECT_THAT(snapshot,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("restore inlier.db from a backup")));
    return std::string(snapshot.status().message());
  }
};

// Each is damage of the same sound database.
struct Damage {
  const char* name;
  const char* sql;
  const char* error;
};

class SnapshotDamageTest : public SnapshotCheckTest, public testing::WithParamInterface<Damage> {};

TEST_P(SnapshotDamageTest, IsNamed) {
  EXPECT_THAT(AfterEditing(GetParam().sql), HasSubstr(GetParam().error));
}

constexpr Damage kDamages[] = {
    {"TrialWithoutItsSweep", "UPDATE trial SET sweep = 9", "t-1 belongs to s-9"},
    {"TrialThatIsMissing", "UPDATE trial SET id = 3", "t-1 is missing: the next is t-3"},
    {"StageThatIsMissing", "DELETE FROM stage WHERE id = 1", "st-1 is missing"},
    {"IdFarBeyondTheNext", "UPDATE stage SET id = 4000000001 WHERE id = 2",
     "st-2 is missing: the next is st-4000000001"},
    {"TrialWhoseStagesDoNotBelongTogether", "UPDATE trial SET evaluate_stage = 1", "t-1 has stages"},
    {"EvaluationOfNoTraining", "UPDATE stage SET train_stage = 2 WHERE id = 2",
     "st-2 has the train stage st-2"},
    {"LiveAttemptOfAStageThatDoesNotRun", "UPDATE stage SET state = 'FAILED' WHERE id = 1",
     "attempt 1 is live although st-1"},
    {"LiveEvaluationBeforeItsTrainingHasAModel", "UPDATE attempt SET stage = 2",
     "attempt 1 is live although the training st-1, which st-2 needs, has not succeeded"},
    {"StartFromItself", "UPDATE stage SET start_stage = 1 WHERE id = 1",
     "st-1 starts from st-1, which is not a training before it"},
    {"EvaluationThatStartsFromATraining", "UPDATE stage SET start_stage = 1 WHERE id = 2",
     "st-2 starts from st-1, which is not a training before it"},
    {"LiveAttemptOfNoSweep", "UPDATE attempt SET sweep = 9",
     "attempt 1 is charged to s-9, which is not there"},
    {"RequestOutOfItsOrder",
     "INSERT INTO request VALUES (-7, 'a', 'Cancel', '', x'', 0), (3, 'b', 'Cancel', '', x'', 0)",
     "is there twice or has no number"},
    {"FilesThatAreNamedTwice", "UPDATE data SET digest = printf('%064d', 0)",
     "are there twice, or not at all"},
    {"SpecificationThatIsNoObject", "UPDATE stage SET spec = '7' WHERE id = 2",
     "st-2 has a specification that is not a JSON object"},
    {"FingerprintThatIsNone", "UPDATE stage SET fingerprint = X'0f' WHERE id = 2",
     "st-2 has no SHA-256 as its fingerprint"},
    {"CounterThatCannotGrow", "UPDATE meta SET value = 9223372036854775807", "the next token is"},
};

INSTANTIATE_TEST_SUITE_P(Damages, SnapshotDamageTest, testing::ValuesIn(kDamages),
                         [](const auto& info) { return info.param.name; });

TEST_F(SnapshotCheckTest, FinishedModelThatIsNoDigestIsNamed) {
  MustApply(Checkpoint(1, 200, true));
  EXPECT_THAT(AfterEditing("UPDATE artifact SET sha256 = '../model'"),
              HasSubstr("the final checkpoint of attempt 1 has no SHA-256"));
}

TEST_F(SnapshotCheckTest, TrainedModelThatIsNoDigestIsNamed) {
  MustApply(Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
  EXPECT_THAT(AfterEditing("UPDATE stage SET checkpoint = NULL WHERE id = 1"),
              HasSubstr("st-1 has no SHA-256 as its checkpoint"));
}

}  // namespace
}  // namespace inlier
