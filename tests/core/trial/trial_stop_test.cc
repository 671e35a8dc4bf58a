// SIGTERM ends every phase of inlier-trial within a second: a training with a checkpoint, all else as it is.
#include <chrono>
#include <thread>

#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class TrialStopTest : public TrialProgramTest {
 protected:
  // Sends SIGTERM `after` the child's first event of `phase` (empty: after its signal handlers are there),
  // and expects its end within a second.
  Ended Stop(const v1::AttemptSpec& attempt, const std::string& phase,
             std::chrono::milliseconds after = std::chrono::milliseconds(100)) {
    const std::unique_ptr<TrialChild> child = Start(attempt);
    child->AwaitHandler(SIGTERM);
    while (!phase.empty()) {
      const std::optional<v1::TrialEvent> event = child->Next();
      if (!event) break;
      EXPECT_FALSE(event->has_outcome()) << phase << ": " << event->outcome().message();
      if (event->has_progress() && event->progress().phase() == phase) break;
    }
    std::this_thread::sleep_for(after);
    const auto begin = std::chrono::steady_clock::now();
    child->Signal(SIGTERM);
    const Ended ended = Finish(*child);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 1.0) << phase;
    EXPECT_EQ(ended.exit_code, 75) << phase << ": " << ended.outcome.message() << Log();
    EXPECT_EQ(ended.outcome.failure(), v1::PREEMPTED) << phase;
    return ended;
  }

  v1::AttemptSpec OnText(v1::AttemptSpec attempt, const std::string& path) {
    attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(path);
    return attempt;
  }

  // A text that keeps one evaluation busy for long.
  std::string LongText() {
    std::stringstream tiny;
    tiny << std::ifstream(INLIER_TINY_TEXT).rdbuf();
    const std::string path = folder_ / "long.txt";
    std::ofstream out(path);
    for (int i = 0; i < 20; ++i) out << tiny.str() << "\n";
    return path;
  }
};

// A sparse file of a terabyte: its digest takes an hour, and reports nothing.
TEST_F(TrialStopTest, WhileTheDataAreDigested) {
  const std::string path = folder_ / "endless.txt";
  std::ofstream(path) << "a\nb\n";
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  const Ended ended = Stop(OnText(Attempt(v1::TRAIN_STAGE, "out"), path), "", std::chrono::milliseconds(700));
  EXPECT_THAT(ended.outcome.message(), HasSubstr("stopped on request"));
  EXPECT_TRUE(Checkpoints(ended.events).empty());
}

// Two lines of 25 MB: no loop over lines would come to its next step in time.
TEST_F(TrialStopTest, WhileAVocabularyIsTrained) {
  const std::string path = folder_ / "lines.txt";
  std::ofstream out(path);
  for (std::uint32_t line = 0; line < 2; ++line) {
    for (std::uint32_t i = 0, x = 17 + line; i < 5'000'000; ++i) {
      x = x * 1664525 + 1013904223;
      out << char('a' + (x >> 28)) << char('a' + (x >> 24) % 16) << char('a' + (x >> 20) % 16)
          << char('a' + (x >> 16) % 16) << (x % 5 == 0 ? " " : "e");
    }
    out << "\n";
  }
  out.close();
  Stop(OnText(Attempt(v1::TRAIN_STAGE, "out"), path), "tokenize");
}

TEST_F(TrialStopTest, WhileItTrains) {
  const Ended ended =
      Stop(Attempt(v1::TRAIN_STAGE, "out", "training { steps: 100000 gradient_accumulation: 2 }"), "train");
  EXPECT_EQ(Checkpoints(ended.events).back().path(),
            ended.outcome.message().substr(ended.outcome.message().rfind(' ') + 1));
}

// One update would take minutes; it is left out.
TEST_F(TrialStopTest, WithinAnUpdateOfManyMicroBatches) {
  v1::AttemptSpec attempt =
      Attempt(v1::TRAIN_STAGE, "out", "training { steps: 10 gradient_accumulation: 65536 }");
  const std::unique_ptr<TrialChild> child = Start(attempt);
  std::optional<v1::TrialEvent> event;
  while ((event = child->Next()) && !event->has_started()) {
  }
  ASSERT_TRUE(event) << Log();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto begin = std::chrono::steady_clock::now();
  child->Signal(SIGTERM);
  const Ended ended = Finish(*child);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 1.0);
  EXPECT_EQ(ended.exit_code, 75);
  EXPECT_THAT(ended.outcome.message(), HasSubstr("before the first update"));
}

TEST_F(TrialStopTest, WhileItEvaluates) {
  const std::string text = LongText();
  const std::string changes =
      "data { text { validation_fraction: 0.9 } } training { steps: 1 } evaluation { batch_size: 1 }";
  const auto attempt = [&](v1::StageKind kind, const std::string& name, const std::string& more) {
    v1::AttemptSpec made = OnText(Attempt(kind, name, changes + more), text);
    made.mutable_spec()->mutable_evaluation()->clear_batches();
    made.set_checkpoint(folder_ / "train" / "model.safetensors");
    return made;
  };
  ASSERT_EQ(RunToEnd(attempt(v1::TRAIN_STAGE, "train", "")).outcome.kind(), v1::Outcome::SUCCEEDED) << Log();
  Stop(attempt(v1::EVALUATE_STAGE, "evaluate", ""), "evaluate");
  Stop(attempt(v1::EVALUATE_STAGE, "calibrate",
               " quantization { weights { } activations { } calibration { batches: 100000 batch_size: 1 } }"),
       "calibrate");
}

}  // namespace
}  // namespace inlier
