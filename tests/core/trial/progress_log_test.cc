#include "core/trial/progress_log.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

Timestamp At(int seconds) { return {std::chrono::seconds(seconds)}; }

v1::Progress Progress(const char* phase, std::uint64_t step, double loss) {
  v1::Progress progress;
  progress.set_phase(phase);
  progress.set_step(step);
  progress.set_steps_total(400);
  progress.set_loss(loss);
  progress.set_rate(1.42);
  return progress;
}

TEST(ProgressLogTest, ALineEveryThirtySecondsAndAtTheEndOfATraining) {
  ProgressLog log;
  int lines = 0;
  for (int second = 0; second < 300; ++second) {
    for (int part = 0; part < 4; ++part)
      lines += log.Line(Progress("train", static_cast<std::uint64_t>(second + 1), 5), At(second)).has_value()
                   ? 1
                   : 0;
  }
  EXPECT_EQ(lines, 9);
  EXPECT_EQ(log.Line(Progress("train", 400, 4.321), At(300)),
            "train 400/400 (100 %), loss 4.321, 1.42 updates/s");
}

TEST(ProgressLogTest, TheLineHasLossRateAndTheTimeLeft) {
  ProgressLog log;
  EXPECT_FALSE(log.Line(Progress("train", 1, 6), At(0)).has_value());
  EXPECT_EQ(log.Line(Progress("train", 82, 5.298), At(31)),
            "train 82/400 (20 %), loss 5.298, 1.42 updates/s, about 3 min 44 s left");
  v1::Progress digest;
  digest.set_phase("digest");
  digest.set_step(1);
  digest.set_steps_total(2);
  EXPECT_EQ(log.Line(digest, At(62)), "digest 1/2 (50 %)");
}

TEST(ProgressLogTest, ShortWorkOfOtherPhasesHasNone) {
  ProgressLog log;
  for (std::uint64_t step = 1; step <= 400; ++step)
    EXPECT_FALSE(log.Line(Progress("evaluate", step, 5), At(1)).has_value());
}

TEST(ProgressLogTest, StartAndEndAreNamed) {
  v1::Started started;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "host: 'vm' device: 'cpu' threads: 2 parameters: 104000 build: '0.1.0' torch_version: '2.13.0' "
      "resumed_step: 40",
      &started));
  EXPECT_EQ(StartedLine(started),
            "started on vm, cpu, 2 threads: 104000 parameters, inlier 0.1.0, LibTorch 2.13.0, resumed from "
            "step 40");
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::SUCCEEDED);
  EXPECT_EQ(EndedLine(outcome, std::chrono::seconds(62)), "SUCCEEDED after 1 min 02 s");
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_failure(v1::OUT_OF_MEMORY);
  outcome.set_message("no memory");
  EXPECT_EQ(EndedLine(outcome, std::chrono::seconds(2)), "FAILED, OUT_OF_MEMORY after 2.0 s: no memory");
  outcome.set_failure(v1::PREEMPTED);
  EXPECT_EQ(EndedLine(outcome, std::chrono::seconds(62)), "PREEMPTED after 1 min 02 s: no memory");
}

}  // namespace
}  // namespace inlier
