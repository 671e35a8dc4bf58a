// inlier-trial trains, evaluates, is stopped and resumed, and reports errors clearly.
#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;

TEST_F(TrialProgramTest, TrainsThenEvaluatesInFloatAndQuantized) {
  const Ended trained = RunToEnd(Attempt(v1::TRAIN_STAGE, "train"));
  ASSERT_EQ(trained.outcome.kind(), v1::Outcome::SUCCEEDED) << trained.outcome.message();
  EXPECT_EQ(trained.exit_code, 0);
  const std::optional<v1::Started> started = StartedOf(trained.events);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->resumed_step(), 0u);
  EXPECT_EQ(started->device(), "cpu");
  EXPECT_EQ(started->threads(), 1u);
  EXPECT_EQ(started->dataset_digest().size(), 64u);
  EXPECT_GT(started->parameters(), 20000u);
  EXPECT_THAT(started->build(), HasSubstr("+"));
  const std::vector<v1::CheckpointSaved> saved = Checkpoints(trained.events);
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[0].step(), 5u);
  EXPECT_FALSE(saved[0].final());
  EXPECT_EQ(saved[2].path(), "model.safetensors");
  EXPECT_TRUE(saved[2].final());
  EXPECT_EQ(saved[2].bytes(), std::filesystem::file_size(folder_ / "train" / "model.safetensors"));

  std::map<std::string, double> numbers[2];
  const char* quantizations[] = {
      "", "quantization { weights { } activations { } calibration { batches: 2 batch_size: 4 } }"};
  for (int i = 0; i < 2; ++i) {
    v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "evaluate", quantizations[i]);
    attempt.set_checkpoint(folder_ / "train" / "model.safetensors");
    const Ended evaluated = RunToEnd(attempt);
    ASSERT_EQ(evaluated.outcome.kind(), v1::Outcome::SUCCEEDED) << evaluated.outcome.message();
    EXPECT_EQ(evaluated.exit_code, 0);
    numbers[i] = FinalMeasurements(evaluated.events);
    for (const char* name : {"perplexity", "max_inf_norm", "avg_kurtosis", "unigram_perplexity"})
      EXPECT_GT(numbers[i][name], 0) << name;
    EXPECT_EQ(evaluated.events.back().outcome().kind(), v1::Outcome::SUCCEEDED);
  }
  EXPECT_NE(numbers[0]["perplexity"], numbers[1]["perplexity"]);
  EXPECT_NEAR(numbers[0]["perplexity"], numbers[1]["perplexity"], 0.02 * numbers[0]["perplexity"]);
  EXPECT_EQ(numbers[0]["unigram_perplexity"], numbers[1]["unigram_perplexity"]);
}

TEST_F(TrialProgramTest, AFineTuningStartsFromTheModelThatItIsGiven) {
  const std::string steps =
      "training { steps: 60 measure_every: 1 optimizer { adamw { learning_rate: 0.01 } } }";
  const auto first_loss = [](const Ended& ended) {
    for (const v1::TrialEvent& event : ended.events) {
      if (event.has_measurement() && event.measurement().name() == "train_loss")
        return event.measurement().value();
    }
    ADD_FAILURE() << "no loss";
    return 0.0;
  };
  const Ended fresh = RunToEnd(Attempt(v1::TRAIN_STAGE, "first", steps));
  ASSERT_EQ(fresh.outcome.kind(), v1::Outcome::SUCCEEDED) << fresh.outcome.message();
  const std::string start = "seed: 4 training { steps: 12 measure_every: 1 start_from { training: \"" +
                            std::string(64, 'e') + "\" } }";
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "then", start);
  EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC),
              HasSubstr("checkpoint is not given; the model of training.start_from.training"));
  const std::filesystem::path model = folder_ / "first" / "model.safetensors";
  attempt.set_checkpoint(model);
  attempt.add_data_roots(
      std::filesystem::path(INLIER_TINY_TEXT).parent_path().string());  // The model lies elsewhere.
  const Ended tuned = RunToEnd(attempt);
  ASSERT_EQ(tuned.outcome.kind(), v1::Outcome::SUCCEEDED) << tuned.outcome.message();
  EXPECT_LT(first_loss(tuned), first_loss(fresh) - 0.4);
  // The model is in the training's fingerprint, and no part of its data.
  EXPECT_EQ(StartedOf(tuned.events)->dataset_digest(), StartedOf(fresh.events)->dataset_digest());

  v1::AttemptSpec evaluation = Attempt(v1::EVALUATE_STAGE, "evaluate", start);
  evaluation.set_checkpoint(folder_ / "then" / "model.safetensors");
  const Ended evaluated = RunToEnd(evaluation);
  ASSERT_EQ(evaluated.outcome.kind(), v1::Outcome::SUCCEEDED) << evaluated.outcome.message();
  EXPECT_EQ(StartedOf(evaluated.events)->dataset_digest(), StartedOf(tuned.events)->dataset_digest());

  // It resumes from its own checkpoint, also where the other model is gone.
  v1::AttemptSpec resumed = Attempt(v1::TRAIN_STAGE, "resumed", start);
  resumed.set_resume_from(folder_ / "then" / Checkpoints(tuned.events)[0].path());
  const Ended rest = RunToEnd(resumed);
  ASSERT_EQ(rest.outcome.kind(), v1::Outcome::SUCCEEDED) << rest.outcome.message();
  EXPECT_EQ(StartedOf(rest.events)->dataset_digest(), StartedOf(tuned.events)->dataset_digest());
  EXPECT_EQ(Checkpoints(rest.events).back().sha256(), Checkpoints(tuned.events).back().sha256());

  attempt.set_checkpoint(folder_ / "nothing.safetensors");
  EXPECT_EQ(RunToEnd(attempt).outcome.failure(), v1::CRASHED);  // Of the machine: tried again.
}

TEST_F(TrialProgramTest, OnlyACoordinatorKnowsItsTrialsAndPoints) {
  for (const char* field : {"point: \"phase=first\"", "trial: \"t-3\""}) {
    EXPECT_THAT(
        FailureOf(Attempt(v1::TRAIN_STAGE, "out", "training { start_from { " + std::string(field) + " } }"),
                  v1::INVALID_SPEC),
        HasSubstr(": only a coordinator knows that training; submit the sweep to one"));
  }
}

// One training is evaluated at other lengths; alpha's T stays the training's, so only the sequences change.
TEST_F(TrialProgramTest, OneTrainingIsEvaluatedAtSeveralLengths) {
  const std::string model =
      "model { bert { max_positions: 64 } } attention { softmax { clipped { alpha: 1 } } } ";
  ASSERT_EQ(RunToEnd(Attempt(v1::TRAIN_STAGE, "train", model)).outcome.kind(), v1::Outcome::SUCCEEDED);
  std::map<int, std::map<std::string, double>> numbers;
  for (const int length : {0, 16, 8, 64}) {
    const std::string evaluation =
        length == 0 ? "" : "evaluation { sequence_length: " + std::to_string(length) + " }";
    v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "evaluate", model + evaluation);
    attempt.set_checkpoint(folder_ / "train" / "model.safetensors");
    const Ended evaluated = RunToEnd(attempt);
    ASSERT_EQ(evaluated.outcome.kind(), v1::Outcome::SUCCEEDED) << length << evaluated.outcome.message();
    numbers[length] = FinalMeasurements(evaluated.events);
    EXPECT_EQ(numbers[length].count("accuracy"), 1u);
  }
  EXPECT_EQ(numbers[0]["perplexity"], numbers[16]["perplexity"]);
  EXPECT_NE(numbers[8]["perplexity"], numbers[16]["perplexity"]);
  EXPECT_NE(numbers[64]["perplexity"], numbers[16]["perplexity"]);
  // The same texts: the place of the cuts matters little to the tokens' shares.
  EXPECT_NEAR(numbers[64]["unigram_perplexity"], numbers[16]["unigram_perplexity"],
              0.05 * numbers[16]["unigram_perplexity"]);
  EXPECT_THAT(FailureOf(Attempt(v1::TRAIN_STAGE, "out", model + "evaluation { sequence_length: 65 }"),
                        v1::INVALID_SPEC),
              HasSubstr("evaluation.sequence_length: 65 is longer than model.bert.max_positions 64"));
}

// The size of a vocabulary named by its path is known only here.
TEST_F(TrialProgramTest, AVocabularyThatIsLargerThanTheModelIsRefused) {
  std::filesystem::create_directories(folder_ / "vocabulary");
  std::ofstream(folder_ / "vocabulary" / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nof\n";
  const std::string data =
      "data { text { tokenizer { wordpiece { vocab: \"" + (folder_ / "vocabulary").string() + "\" } } } } ";
  EXPECT_THAT(
      FailureOf(Attempt(v1::TRAIN_STAGE, "out", data + "model { bert { vocab_size: 6 } }"), v1::INVALID_SPEC),
      HasSubstr("model.bert.vocab_size: 6 rows are too few for the tokenizer's 7 tokens; give at least 7"));
  const Ended ended = RunToEnd(Attempt(v1::TRAIN_STAGE, "out", data + "model { bert { vocab_size: 7 } }"));
  EXPECT_EQ(ended.outcome.kind(), v1::Outcome::SUCCEEDED) << ended.outcome.message();
}

TEST_F(TrialProgramTest, SigtermLeavesACheckpointAndResumingEndsInTheSameModel) {
  const std::string steps = "training { steps: 400 checkpoint_every: 1000 }";
  const Ended whole = RunToEnd(Attempt(v1::TRAIN_STAGE, "whole", steps));
  ASSERT_EQ(whole.outcome.kind(), v1::Outcome::SUCCEEDED) << whole.outcome.message();

  const std::unique_ptr<TrialChild> child = Start(Attempt(v1::TRAIN_STAGE, "stopped", steps));
  while (std::optional<v1::TrialEvent> event = child->Next()) {
    if (event->has_progress() && event->progress().phase() == "train") break;
  }
  child->Signal(SIGTERM);
  const Ended stopped = Finish(*child);
  EXPECT_EQ(stopped.exit_code, 75);
  EXPECT_EQ(stopped.outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(stopped.outcome.failure(), v1::PREEMPTED);
  const std::vector<v1::CheckpointSaved> saved = Checkpoints(stopped.events);
  ASSERT_EQ(saved.size(), 1u) << Log();
  EXPECT_LT(saved[0].step(), 400u);
  EXPECT_THAT(stopped.outcome.message(), HasSubstr("continues from " + saved[0].path()));

  v1::AttemptSpec again = Attempt(v1::TRAIN_STAGE, "resumed", steps);
  again.set_resume_from(folder_ / "stopped" / saved[0].path());
  const Ended resumed = RunToEnd(again);
  ASSERT_EQ(resumed.outcome.kind(), v1::Outcome::SUCCEEDED) << resumed.outcome.message();
  EXPECT_EQ(StartedOf(resumed.events)->resumed_step(), saved[0].step());
  EXPECT_EQ(Checkpoints(resumed.events).back().sha256(), Checkpoints(whole.events).back().sha256());
}

TEST_F(TrialProgramTest, DivergenceIsAResult) {
  const Ended ended =
      RunToEnd(Attempt(v1::TRAIN_STAGE, "diverged",
                       "training { steps: 200 checkpoint_every: 200 schedule { constant { } } "
                       "optimizer { adamw { learning_rate: 100 weight_decay: 0.1 } } }"));
  EXPECT_EQ(ended.outcome.kind(), v1::Outcome::DIVERGED);
  EXPECT_THAT(ended.outcome.message(), HasSubstr("diverged at update "));
  EXPECT_EQ(ended.exit_code, 0);
}

TEST_F(TrialProgramTest, MissingCorpusNamesTheFolder) {
  v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "out", "data { text { corpus: \"moby\" } }");
  const std::string message = FailureOf(attempt, v1::INVALID_SPEC);
  EXPECT_THAT(message, HasSubstr("moby"));
  EXPECT_THAT(message, HasSubstr((folder_ / "data").string()));
}

TEST_F(TrialProgramTest, SpecsThatCannotRunAreInvalid) {
  EXPECT_THAT(FailureOf(Attempt(v1::TRAIN_STAGE, "out", "model { bert { heads: 5 } }"), v1::INVALID_SPEC),
              HasSubstr("model.bert.heads"));
  EXPECT_THAT(
      FailureOf(Attempt(v1::TRAIN_STAGE, "out", "model { bert { vocab_size: 100 } }"), v1::INVALID_SPEC),
      HasSubstr("model.bert.vocab_size"));
  v1::AttemptSpec no_cache = Attempt(v1::TRAIN_STAGE, "out");
  no_cache.clear_cache_dir();
  EXPECT_THAT(FailureOf(no_cache, v1::INVALID_SPEC), HasSubstr("attempt: cache_dir is not given"));
  EXPECT_THAT(FailureOf(Attempt(v1::EVALUATE_STAGE, "out"), v1::INVALID_SPEC),
              HasSubstr("attempt: checkpoint is not given"));
}

TEST_F(TrialProgramTest, CheckpointsThatCannotBeUsedAreNamedWithARemedy) {
  v1::AttemptSpec evaluate = Attempt(v1::EVALUATE_STAGE, "out");
  evaluate.set_checkpoint(folder_ / "nothing.safetensors");
  EXPECT_THAT(FailureOf(evaluate, v1::CRASHED),
              testing::AllOf(HasSubstr("nothing.safetensors"), HasSubstr("train the model again")));
  std::ofstream(folder_ / "garbage.safetensors") << "this is no checkpoint at all";
  v1::AttemptSpec resume = Attempt(v1::TRAIN_STAGE, "out");
  resume.set_resume_from(folder_ / "garbage.safetensors");
  EXPECT_THAT(FailureOf(resume, v1::CRASHED),
              testing::AllOf(HasSubstr("garbage.safetensors"), HasSubstr("without resume_from")));

  ASSERT_EQ(RunToEnd(Attempt(v1::TRAIN_STAGE, "train")).outcome.kind(), v1::Outcome::SUCCEEDED);
  v1::AttemptSpec other = Attempt(v1::TRAIN_STAGE, "out", "seed: 4");
  other.set_resume_from(folder_ / "train" / "step-0000000010.safetensors");
  EXPECT_THAT(FailureOf(other, v1::INVALID_SPEC), HasSubstr("seed is 3 in the checkpoint and 4 here"));
}

TEST_F(TrialProgramTest, DeviceAndFolderProblemsAreNamed) {
  v1::AttemptSpec device = Attempt(v1::TRAIN_STAGE, "out");
  device.set_device("tpu");
  EXPECT_THAT(FailureOf(device, v1::INVALID_SPEC), HasSubstr("unsupported device \"tpu\""));
  v1::AttemptSpec folder = Attempt(v1::TRAIN_STAGE, "out");
  std::ofstream(folder_ / "file") << "x";
  folder.set_output_dir(folder_ / "file" / "below");
  EXPECT_THAT(FailureOf(folder, v1::CRASHED),
              HasSubstr("output_dir: cannot make the folder " + (folder_ / "file" / "below").string()));
}

TEST_F(TrialProgramTest, FullDiskIsNamedAndTheLastCheckpointStaysWhole) {
  // RLIMIT_FSIZE simulates the full disk: writing past it fails in the same place.
  const std::string steps = "training { steps: 6 checkpoint_every: 3 }";
  ASSERT_EQ(RunToEnd(Attempt(v1::TRAIN_STAGE, "warm", steps)).outcome.kind(), v1::Outcome::SUCCEEDED);
  std::string json;
  ASSERT_TRUE(
      google::protobuf::util::MessageToJsonString(Attempt(v1::TRAIN_STAGE, "full", steps), &json).ok());
  std::ofstream(folder_ / "spec.json") << json;
  TrialChild child(
      "/bin/sh",
      {"-c", "trap '' XFSZ; ulimit -f 32; exec \"$0\" \"$1\"", INLIER_TRIAL_PROGRAM, folder_ / "spec.json"},
      folder_ / "log");
  const Ended ended = Finish(child);
  EXPECT_EQ(ended.outcome.failure(), v1::CRASHED);
  EXPECT_THAT(ended.outcome.message(), testing::AllOf(HasSubstr("step-0000000003.safetensors"),
                                                      HasSubstr("check that the disk has room")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "full"));
}

TEST_F(TrialProgramTest, CommandLineMistakesExitWithTwo) {
  EXPECT_EQ(StartWith({})->Wait(), 2);
  EXPECT_THAT(Log(), HasSubstr("usage: inlier-trial SPEC.json"));
  EXPECT_EQ(StartWith({folder_ / "missing.json"})->Wait(), 2);
  EXPECT_THAT(Log(), HasSubstr("missing.json"));
  std::ofstream(folder_ / "bad.json") << R"({"stage_id": "x", "nonsense": 1})";
  EXPECT_EQ(StartWith({folder_ / "bad.json"})->Wait(), 2);
  EXPECT_THAT(Log(),
              testing::AllOf(HasSubstr("bad.json: not an AttemptSpec in JSON"), HasSubstr("nonsense")));
}

TEST_F(TrialProgramTest, HelpAndVersionDescribeTheProgram) {
  EXPECT_EQ(StartWith({"--help"})->Wait(), 0);
  EXPECT_THAT(Log(), testing::AllOf(HasSubstr("exit codes"), HasSubstr("75")));
  EXPECT_EQ(StartWith({"--version"})->Wait(), 0);
  EXPECT_THAT(Log(), testing::AllOf(HasSubstr("LibTorch 2."), HasSubstr("CUDA")));
}

TEST_F(TrialProgramTest, WithoutAWorkerEventsGoToStandardOutput) {
  std::string json;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(Attempt(v1::TRAIN_STAGE, "out"), &json).ok());
  std::ofstream(folder_ / "spec.json") << json;
  TrialChild child("/bin/sh", {"-c", "exec \"$0\" \"$1\" 3>&-", INLIER_TRIAL_PROGRAM, folder_ / "spec.json"},
                   folder_ / "log");
  EXPECT_TRUE(child.Rest().empty());
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_THAT(Log(), HasSubstr("\"kind\":\"SUCCEEDED\""));
}

}  // namespace
}  // namespace inlier
