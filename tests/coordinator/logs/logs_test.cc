#include "coordinator/logs/logs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "coordinator/sweeps/edit.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

v1::TrialEvent LogEvent(const std::string& text) {
  v1::TrialEvent event;
  event.mutable_log()->set_text(text);
  return event;
}

// A worker that sends lines without end would fill the database, and the memory of those who read them.
TEST(LogsTest, TheLogOfAnAttemptEndsAtItsLinesAndItsBytes) {
  for (const auto& [lines, bytes] : {std::pair(11'000, 10), std::pair(200, 60'000)}) {
    Harness harness;
    harness.Submit(SmallSweep("logs", 1));
    HandWorker worker("w", 1);
    harness.Sync(worker);
    const Token token = worker.running().begin()->first;
    const v1::TrialEvent log = LogEvent(std::string(static_cast<std::size_t>(bytes), 'x'));
    for (int i = 0; i < lines; ++i) {
      worker.Emit(token, log);
      if (i % 1000 == 999) harness.Sync(worker);
    }
    harness.Sync(worker);
    const std::string kept = harness.Query("SELECT count(*) FROM logs WHERE text LIKE 'xxx%'");
    EXPECT_EQ(kept, lines > 200 ? "10000\n" : "139\n");
    EXPECT_EQ(
        harness.Query("SELECT text FROM logs WHERE text NOT LIKE 'xxx%'"),
        "[the coordinator keeps 10000 lines and 8 MiB of an attempt's log; this line and later ones are "
        "left out]\n");
    worker.Emit(token, OutcomeEvent(v1::Outcome::SUCCEEDED));  // The rest of the attempt counts.
    harness.Sync(worker);
    EXPECT_TRUE(worker.running().empty() || !worker.running().contains(token));
  }
}

class SweepLogTest : public testing::Test {
 protected:
  SweepLogTest() {
    v1::SweepSpec spec = SmallSweep("logs", 3);
    spec.mutable_limits()->set_log_lines(5);
    sweep_ = harness_.Submit(spec);
    harness_.Sync(worker_);
  }

  Token Running() const { return worker_.running().begin()->first; }
  void Log(Token token, int lines) {
    for (int i = 1; i <= lines; ++i) worker_.Emit(token, LogEvent("line " + std::to_string(i)));
    harness_.Sync(worker_);
  }
  std::string LinesOf(Token token) {
    return harness_.Query("SELECT text FROM logs WHERE token = " + std::to_string(token));
  }

  Harness harness_;
  HandWorker worker_{"w", 1};
  SweepId sweep_;
  const std::string left_out_ =
      "[this line and later ones are left out: limits.log_lines of s-1 is 5; for more lines: inlier edit s-1 "
      "--set limits.log_lines=LINES]\n";
};

TEST_F(SweepLogTest, ASweepKeepsItsLinesAndEachLogThatIsCutSaysSo) {
  const Token first = Running();
  Log(first, 3);
  worker_.Finish(first);
  harness_.Sync(worker_);
  const Token second = Running();
  Log(second, 4);
  Log(second, 2);
  EXPECT_EQ(LinesOf(first), "line 1\nline 2\nline 3\n");
  EXPECT_EQ(LinesOf(second), "line 1\nline 2\n" + left_out_);
  EXPECT_EQ(
      harness_.Query("SELECT message FROM event WHERE kind = 'log_full'"),
      "no more lines of its attempts' logs are kept: limits.log_lines of s-1 is 5; for more lines: inlier "
      "edit s-1 --set limits.log_lines=LINES\n");

  worker_.Finish(second);
  harness_.Sync(worker_);
  harness_.Restart(worker_);
  Log(Running(), 2);
  EXPECT_EQ(LinesOf(Running()), left_out_) << "the lines of ended attempts count after a restart";
}

TEST_F(SweepLogTest, AnEditLetsTheLogGoOn) {
  const Token token = Running();
  Log(token, 6);
  v1::EditSweepRequest request;
  request.set_sweep(sweep_.ToString());
  *request.mutable_spec() = harness_.orchestrator().state().sweeps.at(sweep_).spec;
  request.mutable_spec()->mutable_limits()->set_log_lines(6);
  ASSERT_TRUE(harness_.Ask(&EditSweep, request).ok());
  Log(token, 2);
  std::string cut = left_out_;
  cut.replace(cut.find("is 5"), 4, "is 6");
  EXPECT_EQ(LinesOf(token), "line 1\nline 2\nline 3\nline 4\nline 5\n" + left_out_ + "line 1\n" + cut);
}

}  // namespace
}  // namespace inlier
