#include <gtest/gtest.h>

#include <cmath>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

class MeasurementRowsTest : public StoreTest {
 protected:
  static MeasurementRow Point(Token token, std::uint64_t step, double value = 0.5) {
    return {.token = token,
            .name = "train_loss",
            .step = step,
            .value = value,
            .site = "",
            .final = false,
            .at = {3000}};
  }
};

TEST_F(MeasurementRowsTest, RowsOfManyLengthsAreAllStoredInTheirOrder) {
  MustStart();
  std::uint64_t step = 0;
  for (const int count : {1, 63, 64, 65, 130}) {
    ChangeBatch batch;
    for (int i = 0; i < count; ++i) batch.Add(Point(1, ++step));
    const auto stats = store_->Apply(batch).value();
    EXPECT_EQ(stats.rows, static_cast<std::uint64_t>(count));
    EXPECT_EQ(stats.fenced, 0u);
  }
  EXPECT_EQ(Rows("SELECT count(*), min(step), max(step), sum(step = id), sum(value = 0.5) FROM measurement"),
            std::vector<std::string>{"323|1|323|323|323"});
}

TEST_F(MeasurementRowsTest, ThoseOfAnAttemptThatHasEndedAreDroppedAndCounted) {
  MustAddTrial();
  MustApply(Start(1, 1), Fail(1, v1::LOST), Start(2, 1, 2));
  ChangeBatch batch;
  for (int i = 1; i <= 70; ++i) batch.Add(Point(2, i));
  for (int i = 1; i <= 80; ++i) batch.Add(Point(1, i));
  batch.Add(Point(2, 71));
  batch.Add(Point(9, 1));
  const auto stats = store_->Apply(batch).value();
  EXPECT_EQ(stats.rows, 71u);
  EXPECT_EQ(stats.fenced, 81u);
  EXPECT_EQ(Rows("SELECT token, count(*), max(step) FROM measurement GROUP BY token"),
            std::vector<std::string>{"2|71|71"});
}

TEST_F(MeasurementRowsTest, ValuesThatAreNotNumbersAreStoredAsNull) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, 1, std::nan("")), Point(1, ~std::uint64_t{0}, 2));
  EXPECT_EQ(Rows("SELECT step, value IS NULL FROM measurement ORDER BY id"),
            (std::vector<std::string>{"1|1", "9223372036854775807|0"}));
}

TEST_F(MeasurementRowsTest, AnEmptiedStageLosesItsRowsPartByPart) {
  constexpr int kRows = 2 * Store::kRowsThinned + 1;
  MustAddTrial();
  MustApply(Start(1, 1));
  ChangeBatch batch;
  for (int i = 1; i <= kRows; ++i) batch.Add(Point(1, static_cast<std::uint64_t>(i)));
  ASSERT_TRUE(store_->Apply(batch).ok());
  const auto left = [this] { return Rows("SELECT count(*) FROM measurement").at(0); };
  EXPECT_EQ(store_->Thin(), absl::OkStatus());
  EXPECT_EQ(left(), std::to_string(kRows)) << "no stage is empty";
  MustApply(Checkpoint(1, 200, true), End(1, v1::SUCCEEDED), StageGone{.id = StageId(1), .fate = StageFate::kFreed},
            StageGone{.id = StageId(1), .fate = StageFate::kEmpty});
  EXPECT_EQ(left(), std::to_string(kRows - Store::kRowsThinned));
  EXPECT_TRUE(store_->HasLeftovers());
  Reopen();
  EXPECT_FALSE(store_->HasLeftovers());
  ASSERT_TRUE(store_->Load().ok());
  EXPECT_TRUE(store_->HasLeftovers()) << "found after a start";
  EXPECT_EQ(store_->Thin(), absl::OkStatus());
  EXPECT_EQ(left(), "1") << "the latest row stays";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(store_->Thin(), absl::OkStatus());
  EXPECT_FALSE(store_->HasLeftovers());
  EXPECT_EQ(left(), "1");
}

}  // namespace
}  // namespace inlier
