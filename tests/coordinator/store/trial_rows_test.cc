#include <gtest/gtest.h>

#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrialRowsTest : public StoreTest {
 protected:
  // `count` trials with a training and an evaluation each, from trial `first` on.
  static ChangeBatch Expanded(int first, int count) {
    ChangeBatch batch;
    for (int id = first; id < first + count; ++id) {
      batch.Add(Train(2 * id - 1));
      batch.Add(Evaluate(2 * id, 2 * id - 1));
      batch.Add(Trial(id, 1, id, 2 * id - 1, 2 * id));
    }
    return batch;
  }
};

TEST_F(TrialRowsTest, RunsOfManyLengthsAreStoredWholeAndInOrder) {
  MustApply(Sweep(1));
  int next = 1;
  for (const int count : {1, 7, 8, 9, 63, 64, 65, 137}) {
    EXPECT_EQ(store_->Apply(Expanded(next, count)).value().rows, static_cast<std::uint64_t>(3 * count));
    next += count;
  }
  EXPECT_THAT(Rows("SELECT count(*), min(id), max(id), sum(point = id), sum(train_stage = 2 * id - 1), "
                   "sum(evaluate_stage = 2 * id) FROM trial"),
              ElementsAre("354|1|354|354|354|354"));
  EXPECT_THAT(Rows("SELECT count(*), sum(train_stage = id - 1), sum(train_stage IS NULL) FROM stage"),
              ElementsAre("708|354|354"));
  EXPECT_THAT(
      Rows("SELECT count(*), sum(spec = iif(kind = 'TRAIN_STAGE', '" + Train(1).spec_json + "', '" +
           Evaluate(2, 1).spec_json + "')), (SELECT count(*) FROM trial WHERE spec IS NULL) FROM stage"),
      ElementsAre("708|708|354"));
}

TEST_F(TrialRowsTest, ARuleBrokenInTheMiddleLeavesNothingOfTheTransaction) {
  MustApply(Sweep(1));
  ChangeBatch batch = Expanded(1, 70);
  batch.Add(Train(141));
  batch.Add(Trial(71, 1, 30, 141, 60));  // Point 30 is trial 30's.
  EXPECT_THAT(
      store_->Apply(batch),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("UNIQUE constraint failed: trial.sweep, trial.point")));
  EXPECT_THAT(Rows("SELECT (SELECT count(*) FROM stage), (SELECT count(*) FROM trial)"), ElementsAre("0|0"));
  EXPECT_THAT(store_->Apply(Expanded(1, 70)), IsOk());
  EXPECT_THAT(Rows("SELECT count(*) FROM trial"), ElementsAre("70"));
}

TEST_F(TrialRowsTest, ATrialWhoseStageIsNotThereIsRefusedWhenItIsCommitted) {
  MustApply(Sweep(1));
  EXPECT_THAT(Apply(Train(1), Trial(1, 1, 0, 1, 2)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("FOREIGN KEY constraint failed")));
  EXPECT_THAT(Rows("SELECT count(*) FROM trial"), ElementsAre("0"));
  MustApply(Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2));
}

TEST_F(TrialRowsTest, ATrialHasEitherStagesOrItsSpecification) {
  MustApply(Sweep(1), Train(1), Evaluate(2, 1));
  TrialRow invalid = Trial(1, 1, 0, 1, 2);
  invalid.train_stage = StageId();
  invalid.evaluate_stage = StageId();
  invalid.state = v1::FAILED;
  EXPECT_THAT(Apply(invalid), StatusIs(absl::StatusCode::kInternal, HasSubstr("CHECK constraint failed")));
  invalid.spec_json = R"({"seed":7,"evaluation":{"sequence_length":9}})";
  MustApply(invalid);
  EXPECT_THAT(Rows("SELECT seed, evaluation_sequence_length, spec FROM trials"),
              ElementsAre(R"(7|9|{"seed":7,"evaluation":{"sequence_length":9}})"));
}

TEST_F(TrialRowsTest, AKnownTrialIsRefusedBeforeItsStagesSucceed) {
  MustApply(Sweep(1), Train(1), Evaluate(2, 1));
  TrialRow known = Trial(1, 1, 0, 1, 2);
  known.state = v1::SUCCEEDED;
  EXPECT_THAT(Apply(known), StatusIs(absl::StatusCode::kInternal,
                                     HasSubstr("trial: SUCCEEDED although a stage has not succeeded")));
}

TEST_F(TrialRowsTest, AttemptsOfOneBatchStartTogetherAndInOrder) {
  MustApply(Sweep(1));
  ASSERT_TRUE(store_->Apply(Expanded(1, 100)).ok());
  ChangeBatch batch;
  for (int i = 1; i <= 75; ++i) batch.Add(Start(i, 2 * i - 1));
  EXPECT_THAT(store_->Apply(batch), IsOk());
  EXPECT_THAT(Rows("SELECT count(*), sum(stage = 2 * token - 1), (SELECT value FROM meta) FROM attempt"),
              ElementsAre("75|75|76"));
  EXPECT_THAT(Apply(Start(76, 153), Start(77, 155), Start(78, 1)),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("UNIQUE constraint failed: attempt.stage")));
  EXPECT_THAT(
      Apply(Start(76, 153), Start(75, 155)),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("attempt: the token is not above all earlier ones")));
  EXPECT_THAT(Rows("SELECT count(*) FROM attempt"), ElementsAre("75"));
}

// A statement that could be taken back alone would copy each page that it touches.
TEST_F(TrialRowsTest, NoRuleOfTheTablesThatGrowWithTrialsAsksForStatementsToBeTakenBack) {
  EXPECT_THAT(Rows("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%RAISE(ABORT%'"),
              ElementsAre("0"));
  EXPECT_THAT(Rows("SELECT name, (length(sql) - length(replace(sql, ' REFERENCES ', ''))) / 12 = "
                   "(length(sql) - length(replace(sql, ' INITIALLY DEFERRED', ''))) / 19 FROM sqlite_schema "
                   "WHERE type = 'table' AND name IN ('attempt', 'stage', 'trial') ORDER BY name"),
              ElementsAre("attempt|1", "stage|1", "trial|1"));
}

}  // namespace
}  // namespace inlier
