// Both forms of a line of the log, and that no text can forge another line.
#include "base/log.h"

#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

constexpr WallTime kTime{1767225600123};

std::string Json(std::string_view text) { return FormatLogLine(LogFormat::kJson, kTime, "info", "p", text); }

TEST(LogTest, TextLineHasTimeLevelProgramAndTheEvent) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, kTime, "info", "inlier-worker", "slots count=2"),
            "2026-01-01T00:00:00.123Z info inlier-worker slots count=2");
}

TEST(LogTest, JsonLineHasTheEventAndItsFields) {
  EXPECT_EQ(Json("lease_granted trial=t-17 token=3 reason=\"two words\""),
            R"({"time":"2026-01-01T00:00:00.123Z","level":"info","program":"p","event":"lease_granted",)"
            R"("fields":{"trial":"t-17","token":"3","reason":"two words"}})");
}

TEST(LogTest, FreeTextBecomesTheMessage) {
  EXPECT_EQ(Json("refused: by the coordinator code=9"),
            R"({"time":"2026-01-01T00:00:00.123Z","level":"info","program":"p","event":"refused",)"
            R"("fields":{"code":"9"},"message":"by the coordinator"})");
  EXPECT_NE(Json("config {\"a\": 1}").find(R"("message":"{\"a\": 1}")"), std::string::npos);
}

TEST(LogTest, QuotedTextComesBackAsItWas) {
  const std::string text = "it said \"no\" \\ and left=\"x\" ";
  EXPECT_NE(Json("event reason=" + LogText(text) + " after=1")
                .find(R"("reason":"it said \"no\" \\ and left=\"x\" ","after":"1")"),
            std::string::npos);
}

TEST(LogTest, TextOfAClientCannotBeginALineOfItsOwn) {
  const std::string text =
      "worker_joined worker=x\n2026-01-01T00:00:00.123Z info p sweep_state state=COMPLETE\x1b[2J";
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    const std::string line = FormatLogLine(format, kTime, "info", "p", text);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST(LogTest, TextThatIsNotUtf8StillMakesALine) {
  EXPECT_NE(Json("event name=\xff\xfe").find("\"event\":\"event\""), std::string::npos);
}

TEST(LogTest, UnknownFormatIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(SetLogFormat("xml"), StatusIs(absl::StatusCode::kInvalidArgument,
                                            "log_format: 'xml' is not a format; expected text or json"));
}

}  // namespace
}  // namespace inlier
