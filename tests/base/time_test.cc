#include "base/time.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TimeTest, TimestampsAddAndSubtractDurations) {
  Timestamp now{seconds(100)};
  EXPECT_EQ((now + seconds(5)) - now, Duration(seconds(5)));
  EXPECT_LT(now - seconds(1), now);
  now += seconds(31);
  EXPECT_EQ(now, Timestamp{seconds(131)});
}

TEST(TimeTest, TheMonotonicClockNeverGoesBack) {
  Timestamp last = MonotonicNow();
  for (int i = 0; i < 1000; ++i) {
    const Timestamp now = MonotonicNow();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(TimeTest, CalendarTimesAreWrittenInUtcWithMilliseconds) {
  EXPECT_EQ(FormatUtc({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatUtc({1769860800123}), "2026-01-31T12:00:00.123Z");
  EXPECT_EQ(FormatUtc({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(FormatUtc({951782400000}), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(FormatUtc({951782400009}), "2000-02-29T00:00:00.009Z") << "the same second again";
  EXPECT_EQ(FormatUtc({951782401010}), "2000-02-29T00:00:01.010Z");
}

TEST(TimeTest, DurationsAreWrittenForPeople) {
  EXPECT_EQ(FormatDuration(milliseconds(840)), "0.8 s");
  EXPECT_EQ(FormatDuration(seconds(42)), "42 s");
  EXPECT_EQ(FormatDuration(milliseconds(59600)), "1 min 00 s") << "never 60 s";
  EXPECT_EQ(FormatDuration(seconds(200)), "3 min 20 s");
  EXPECT_EQ(FormatDuration(seconds(3600 + 120)), "1 h 02 min");
}

TEST(TimeTest, SecondsConvertBothWays) {
  EXPECT_EQ(FromSeconds(1.5), Duration(milliseconds(1500)));
  EXPECT_DOUBLE_EQ(ToSeconds(milliseconds(250)), 0.25);
}

}  // namespace
}  // namespace inlier
