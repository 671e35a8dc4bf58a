#include "cli/log_line.h"

#include "gtest/gtest.h"

namespace inlier {
namespace {

std::string LineOf(const std::string& text) {
  v1::LoggedLine line;
  line.set_time_unix_ms(1'700'000'000'123);
  line.set_text(text);
  return LogLine(line);
}

TEST(LogLineTest, EachLineHasOneTime) {
  EXPECT_EQ(LineOf("out of memory"), "2023-11-14T22:13:20.123Z  out of memory\n");
  EXPECT_EQ(LineOf("2023-11-14T22:13:19.999Z info inlier-trial attempt_ended"),
            "2023-11-14T22:13:19.999Z info inlier-trial attempt_ended\n");
  EXPECT_EQ(LineOf("2023-11-14 was a day"), "2023-11-14T22:13:20.123Z  2023-11-14 was a day\n");
  EXPECT_EQ(LineOf("a\x1b[2J"), "2023-11-14T22:13:20.123Z  a\\x1b[2J\n");
}

}  // namespace
}  // namespace inlier
