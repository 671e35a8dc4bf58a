// `inlier-trial evaluations`: several evaluations in one process.
#include <chrono>

#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;

using Events = std::vector<v1::TrialEvent>;

class TrialEvaluationsTest : public TrialProgramTest {
 protected:
  std::string Train(const std::string& name, const std::string& changes = "") {
    EXPECT_EQ(RunToEnd(Attempt(v1::TRAIN_STAGE, name, changes)).outcome.kind(), v1::Outcome::SUCCEEDED);
    return folder_ / name / "model.safetensors";
  }
  v1::AttemptSpec Evaluation(const std::string& checkpoint, const std::string& changes = "") {
    v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "evaluate", changes);
    attempt.set_checkpoint(checkpoint);
    return attempt;
  }
  std::unique_ptr<TrialChild> StartEvaluations(const v1::AttemptSpec& first) {
    return StartWith({"evaluations", WriteSpec(first)});
  }
  // The events up to the outcome of the attempt that runs.
  static Events EventsOfOne(TrialChild& child) {
    Events events;
    while (std::optional<v1::TrialEvent> event = child.Next()) {
      events.push_back(*event);
      if (event->has_outcome()) break;
    }
    return events;
  }
  // Every measurement but times.
  static std::vector<std::string> Numbers(const Events& events) {
    std::vector<std::string> numbers;
    for (v1::TrialEvent event : events) {
      if (event.has_measurement() && event.measurement().name() != "evaluate_seconds")
        numbers.push_back(event.measurement().SerializeAsString());
    }
    EXPECT_GT(numbers.size(), 10u);
    return numbers;
  }
};

TEST_F(TrialEvaluationsTest, GiveTheNumbersOfAProcessForEach) {
  const std::string first = Train("first"), other = Train("other", "seed: 4");
  const std::string reference =
      "quantization { weights { bits: %W } activations { } calibration { batches: 2 batch_size: 4 } }";
  const auto with_bits = [&reference](const std::string& bits) {
    return std::string(reference).replace(reference.find("%W"), 2, bits);
  };
  const std::vector<v1::AttemptSpec> attempts = {
      Evaluation(first),
      Evaluation(first, with_bits("8")),
      Evaluation(first, with_bits("4")),
      Evaluation(first, "quantization { absmax { } weights { } activations { } }"),
      Evaluation(other, "seed: 4 " + with_bits("4")),
      Evaluation(first, "evaluation { batches: 1 }"),
      Evaluation(first, with_bits("4")),
      Evaluation(first),
  };
  std::vector<std::vector<std::string>> alone;
  for (const v1::AttemptSpec& attempt : attempts) alone.push_back(Numbers(RunToEnd(attempt).events));
  EXPECT_NE(alone[0], alone[1]);
  EXPECT_NE(alone[1], alone[2]);

  const std::unique_ptr<TrialChild> child = StartEvaluations(attempts[0]);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (i > 0) child->Send(WriteSpec(attempts[i], std::to_string(i) + ".json"));
    const Events events = EventsOfOne(*child);
    ASSERT_FALSE(events.empty()) << i << Log();
    EXPECT_EQ(events.back().outcome().kind(), v1::Outcome::SUCCEEDED)
        << i << events.back().outcome().message();
    EXPECT_TRUE(StartedOf(events)) << i;
    EXPECT_EQ(Numbers(events), alone[i]) << i;
  }
  child->CloseInput();
  EXPECT_EQ(child->Wait(), 0);
}

TEST_F(TrialEvaluationsTest, AFailureEndsTheProcess) {
  const std::string model = Train("train");
  const std::unique_ptr<TrialChild> child = StartEvaluations(Evaluation(model));
  EventsOfOne(*child);
  child->Send(WriteSpec(Evaluation(folder_ / "nothing.safetensors"), "next.json"));
  const Ended ended = Finish(*child);
  EXPECT_EQ(ended.outcome.failure(), v1::CRASHED);
  EXPECT_THAT(ended.outcome.message(), HasSubstr("nothing.safetensors"));
  EXPECT_EQ(ended.exit_code, 1);
}

TEST_F(TrialEvaluationsTest, ARequestToEndBetweenTwoEndsTheProcess) {
  const std::unique_ptr<TrialChild> child = StartEvaluations(Evaluation(Train("train")));
  EventsOfOne(*child);
  const auto begin = std::chrono::steady_clock::now();
  child->Signal(SIGTERM);
  EXPECT_TRUE(child->Rest().empty());
  EXPECT_EQ(child->Wait(), 75);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

// Where the files of the data change between two, the second reads them again.
TEST_F(TrialEvaluationsTest, DataThatChangeAreReadAgain) {
  const std::string text = folder_ / "text.txt";
  std::filesystem::copy_file(INLIER_TINY_TEXT, text);
  const auto on_text = [&text](v1::AttemptSpec attempt) {
    attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(text);
    return attempt;
  };
  ASSERT_EQ(RunToEnd(on_text(Attempt(v1::TRAIN_STAGE, "train"))).outcome.kind(), v1::Outcome::SUCCEEDED);
  const v1::AttemptSpec attempt = on_text(Evaluation(folder_ / "train" / "model.safetensors"));
  const std::unique_ptr<TrialChild> child = StartEvaluations(attempt);
  EXPECT_EQ(EventsOfOne(*child).back().outcome().kind(), v1::Outcome::SUCCEEDED);
  std::ofstream(text, std::ios::app)
      << "A line that the model has never seen, with other words than the rest.\n";
  child->Send(WriteSpec(attempt, "next.json"));
  const Ended ended = Finish(*child);
  EXPECT_EQ(ended.outcome.failure(), v1::INVALID_SPEC) << ended.outcome.message();
  EXPECT_THAT(ended.outcome.message(), HasSubstr("data"));
}

}  // namespace
}  // namespace inlier
