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

}  // namespace
}  // namespace inlier
