// A known result is reused only where its data are still the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kOld(64, '1'), kNew(64, '2'), kAsked(64, '3'), kAskedAnew(64, '4');

// A worker whose files have the digest that a test sets.
class DataWorker : public HandWorker {
 public:
  DataWorker(const std::string& incarnation, std::uint32_t slots, std::string digest = kOld)
      : HandWorker(incarnation, slots), digest_(std::move(digest)) {
    CheckData([this](const v1::DataCheck&, v1::DataChecked& answer) {
      ++checks;
      if (digest_.empty()) {
        answer.set_problem("no such file");
      } else {
        answer.set_digest(digest_);
      }
    });
  }
  void SetData(const std::string& digest) { digest_ = digest; }
  // Reports the digest of each attempt, then ends it well.
  void FinishAll() {
    for (const Token token : tokens()) {
      Emit(token, StartedEvent(digest_));
      Finish(token);
      ++attempts;
    }
  }
  int checks = 0;
  int attempts = 0;

 private:
  std::string digest_;
};

struct KnownDataTest : testing::Test {
  // Until nothing is left to do.
  void RunToEnd(const std::vector<DataWorker*>& workers) {
    for (int quiet = 0; quiet < 4;) {
      ++quiet;
      harness.Tick();
      for (DataWorker* worker : workers) {
        harness.Sync(*worker);
        if (!worker->running().empty() || !worker->outbox().empty() || !worker->checked().empty()) quiet = 0;
        worker->FinishAll();
      }
    }
  }
  // A sweep that the worker runs to its end.
  SweepId Run(const v1::SweepSpec& spec) {
    const SweepId sweep = harness.Submit(spec);
    RunToEnd({&worker});
    return sweep;
  }

  Harness harness;
  DataWorker worker{"w", 1};
};

TEST_F(KnownDataTest, AKnownResultWaitsForAWorkerToFindTheSameData) {
  Run(SmallSweep("first", 2, {8, 6}));
  EXPECT_EQ(worker.attempts, 6);
  EXPECT_EQ(worker.checks, 0);  // New trainings cost no check.

  const auto response = harness.TrySubmit(SmallSweep("second", 2, {8, 6})).value();
  EXPECT_EQ(response.trials_known(), 4u);
  const SweepId second = *SweepId::Parse(response.sweep_id());
  EXPECT_EQ(harness.Status(second).state(), v1::ACTIVE);
  EXPECT_THAT(harness.Why(second), HasSubstr("waits for a worker to compare data.text.corpus kjv"));
  harness.Restart();  // It waits after a restart, too.
  harness.Tick();
  EXPECT_EQ(harness.Status(second).state(), v1::ACTIVE);
  RunToEnd({&worker});
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  EXPECT_EQ(worker.attempts, 6);
  EXPECT_EQ(worker.checks, 1);
  EXPECT_EQ(harness.Query("SELECT count(*), count(DISTINCT perplexity), min(dataset_digest) FROM results"),
            "8|1|" + kOld + "\n");
}

TEST_F(KnownDataTest, ChangedDataRunAgainAndBothResultsStay) {
  Run(SmallSweep("first", 1));
  worker.SetData(kNew);
  const SweepId second = Run(SmallSweep("second", 1));
  EXPECT_EQ(harness.Status(second).trials().succeeded(), 1u);
  EXPECT_EQ(worker.attempts, 4);
  EXPECT_EQ(harness.Query("SELECT sweep, dataset_digest FROM results ORDER BY sweep"),
            "first|" + kOld + "\nsecond|" + kNew + "\n");
  EXPECT_EQ(harness.Query("SELECT trial, measurement, equal, digest_before, digest_now FROM reruns"),
            "t-2|perplexity|1|" + kOld + "|" + kNew + "\n");
  harness.Restart();
  // The old files are back: the old result is known again, and so is the new one after that.
  worker.SetData(kOld);
  Run(SmallSweep("third", 1));
  worker.SetData(kNew);
  Run(SmallSweep("fourth", 1));
  EXPECT_EQ(worker.attempts, 4);
  EXPECT_EQ(harness.Query(
                "SELECT sweep, dataset_digest FROM results WHERE sweep > 's' ORDER BY sweep DESC LIMIT 1"),
            "third|" + kOld + "\n");
}

// A worker whose questions have the digest that a test sets; its text is kOld.
class QuestionWorker : public HandWorker {
 public:
  explicit QuestionWorker(std::string digest) : HandWorker("questions", 1), digest(std::move(digest)) {
    CheckData([this](const v1::DataCheck& check, v1::DataChecked& answer) {
      v1::TrialSpec source;
      EXPECT_TRUE(source.ParseFromString(check.source()));
      if (this->digest.empty() && source.evaluation().has_multiple_choice())
        return answer.set_problem("no such file");
      answer.set_digest(DigestOf(source));
    });
  }
  void FinishAll() {
    for (const auto& [token, assignment] : std::map(running())) {
      Emit(token, StartedEvent(DigestOf(SpecOf(assignment))));
      ++(assignment.kind() == v1::TRAIN_STAGE ? trainings : evaluations);
      Finish(token);
    }
  }
  std::string digest;
  int trainings = 0, evaluations = 0;

 private:
  const std::string& DigestOf(const v1::TrialSpec& spec) const {
    return spec.evaluation().has_multiple_choice() && !digest.empty() ? digest : kOld;
  }
};

struct QuestionDataTest : testing::Test {
  SweepId Run(const std::string& name, bool asks = true) {
    v1::SweepSpec spec = SmallSweep(name, 1);
    spec.mutable_base()->mutable_model()->mutable_opt()->set_preset("tiny");
    if (asks) spec.mutable_base()->mutable_evaluation()->mutable_multiple_choice()->set_path("/q.jsonl");
    const SweepId sweep = harness.Submit(spec);
    for (int i = 0; i < 12; ++i) {
      harness.Tick();
      harness.Sync(worker);
      worker.FinishAll();
    }
    EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u) << name << ": " << harness.Why(sweep);
    return sweep;
  }
  Harness harness;
  QuestionWorker worker{kAsked};
};

TEST_F(QuestionDataTest, OtherQuestionsAreEvaluatedAnewWithoutATraining) {
  Run("plain", /*asks=*/false);
  EXPECT_EQ(worker.trainings, 1);
  EXPECT_EQ(worker.evaluations, 1);
  Run("asked");
  EXPECT_EQ(worker.trainings, 1);
  EXPECT_EQ(worker.evaluations, 2);
  harness.Restart();
  Run("again");
  EXPECT_EQ(worker.evaluations, 2) << "known";
  worker.digest = kAskedAnew;
  const SweepId changed = Run("changed");
  EXPECT_EQ(worker.trainings, 1);
  EXPECT_EQ(worker.evaluations, 3);
  // Each content is a version of the data.
  EXPECT_EQ(harness.Query("SELECT count(DISTINCT data) FROM stage WHERE kind = 'EVALUATE_STAGE'"), "2\n");
  worker.digest = kAsked;
  Run("back");
  EXPECT_EQ(worker.evaluations, 3) << "the old questions are known";
  EXPECT_EQ(harness.Status(changed).state(), v1::COMPLETE);
}

TEST_F(QuestionDataTest, QuestionsThatNoWorkerCanReadAreNoKnownResult) {
  worker.digest = "";
  Run("first");
  Run("second");
  EXPECT_EQ(worker.trainings, 1);
  EXPECT_EQ(worker.evaluations, 2);
}

TEST_F(KnownDataTest, ATrainingThatReadOldDataIsNotJoined) {
  const SweepId first = harness.Submit(SmallSweep("first", 1));
  harness.Sync(worker);
  harness.Report(worker, StartedEvent(kOld));  // It runs, on the old data.
  DataWorker other("other", 1, kNew);
  other.fields().set_name("other");
  worker.SetData(kNew);
  harness.Submit(SmallSweep("second", 1));
  for (int i = 0; i < 5; ++i) {
    harness.Tick();
    harness.Sync(worker);
    harness.Sync(other);
  }
  ASSERT_EQ(other.running().size(), 1u);  // A training of its own.
  other.FinishAll();
  worker.Finish(OnlyToken(worker));
  worker.SetData(kOld);
  RunToEnd({&worker, &other});
  EXPECT_EQ(harness.Status(first).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Query("SELECT sweep, dataset_digest FROM results ORDER BY sweep"),
            "first|" + kOld + "\nsecond|" + kNew + "\n");
}

TEST_F(KnownDataTest, ATrainingThatHasNotBegunIsSharedWithoutACheck) {
  harness.Submit(SmallSweep("first", 1));
  const SweepId second = Run(SmallSweep("second", 1));
  EXPECT_EQ(worker.attempts, 2);
  EXPECT_EQ(worker.checks, 0);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
}

TEST_F(KnownDataTest, DataThatNobodyCanReadRunAsANewTraining) {
  DataWorker other("other", 1);
  Run(SmallSweep("first", 1));
  worker.SetData("");
  other.SetData("");
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  for (int i = 0; i < 6; ++i) {
    harness.Tick();
    harness.Sync(worker);
    harness.Sync(other);
  }
  EXPECT_EQ(worker.checks + other.checks, 2);
  ASSERT_EQ(worker.running().size() + other.running().size(), 1u);
  DataWorker& runs = worker.running().empty() ? other : worker;
  harness.Report(runs, FailureEvent(v1::INVALID_SPEC, "no file"));
  EXPECT_EQ(harness.Status(second).trials().failed(), 1u);
}

TEST_F(KnownDataTest, AnotherWorkerIsAskedWhenOneIsLost) {
  DataWorker other("other", 1);
  Run(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  harness.Sync(worker);  // Is asked, and never answers.
  EXPECT_EQ(worker.checks, 1);
  EXPECT_THAT(harness.Why(second), HasSubstr("worker worker-w was asked"));
  for (int i = 0; i < 5; ++i) {
    harness.TickAfter(std::chrono::seconds(5));
    harness.Sync(other);
  }
  RunToEnd({&other});
  EXPECT_EQ(other.checks, 1);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
}

TEST_F(KnownDataTest, AWorkerThatReadsOnIsWaitedForAndOneThatDoesNotIsNot) {
  DataWorker other("other", 1);
  Run(SmallSweep("first", 1));
  const Duration stall = harness.state().options.stall;
  int bytes = 0;
  bool reads_on = true;
  worker.CheckData([&](const v1::DataCheck&, v1::DataChecked& answer) {
    if (reads_on) ++bytes;
    answer.set_digest(absl::StrCat("reading: ", bytes, " of 1000000 bytes"));
  });
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  const auto pass = [&](Duration time) {
    for (const Timestamp until = harness.now().at + time; harness.now().at < until;) {
      harness.TickAfter(std::chrono::seconds(5));
      harness.Sync(worker);
      harness.Sync(other);
    }
  };
  pass(3 * stall);
  EXPECT_EQ(other.checks, 0);
  EXPECT_GT(bytes, 10);
  EXPECT_THAT(harness.Why(second), AllOf(HasSubstr("worker worker-w was asked and is reading: "),
                                         HasSubstr(" of 1000000 bytes"), Not(HasSubstr("no answer for"))));
  reads_on = false;
  pass(2 * stall);
  RunToEnd({&worker, &other});
  EXPECT_EQ(other.checks, 1);
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
}

TEST_F(KnownDataTest, AnAnswerToAnEarlierQuestionDoesNotCountForALaterSweep) {
  Run(SmallSweep("first", 1));
  harness.Submit(SmallSweep("second", 1));
  harness.Sync(worker);  // Has found the old data, and has not reported them yet.
  worker.SetData(kNew);
  const SweepId third = Run(SmallSweep("third", 1));
  EXPECT_EQ(harness.Status(third).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Query("SELECT sweep, dataset_digest FROM results ORDER BY sweep"),
            "first|" + kOld + "\nsecond|" + kOld + "\nthird|" + kNew + "\n");
}

TEST_F(KnownDataTest, PointsThatAnEditAddsAreOfTheDataWithWhichTheSweepBegan) {
  const SweepId sweep = Run(SmallSweep("s", 1, {8}));
  ASSERT_TRUE(harness.EditSweep(sweep, SmallSweep("s", 1, {8, 4}), "", 10).ok());
  RunToEnd({&worker});
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
  EXPECT_EQ(worker.attempts, 3);  // One training.
  EXPECT_EQ(worker.checks, 0);
}

TEST_F(KnownDataTest, ACancelledSweepWaitsNoMore) {
  Run(SmallSweep("first", 1));
  const SweepId second = harness.Submit(SmallSweep("second", 1));
  EXPECT_EQ(harness.CancelSweep(second), 1u);
  RunToEnd({&worker});
  EXPECT_EQ(harness.Status(second).state(), v1::SWEEP_CANCELLED);
  EXPECT_EQ(harness.RetrySweep(second), 1u);
  RunToEnd({&worker});
  EXPECT_EQ(harness.Status(second).state(), v1::COMPLETE);
  EXPECT_EQ(worker.attempts, 2);
}

TEST_F(KnownDataTest, AgainRunsWhatIsKnownOnceMore) {
  Run(SmallSweep("first", 2));
  const auto response = harness.TrySubmit(SmallSweep("first", 2), "request", 100, /*again=*/true).value();
  RunToEnd({&worker});
  EXPECT_EQ(worker.attempts, 8);
  EXPECT_EQ(worker.checks, 0);
  EXPECT_EQ(harness.Query("SELECT count(*), min(equal), min(digest_before = digest_now) FROM reruns"),
            "2|1|1\n");
  harness.Restart();
  // The same request again is the same sweep; without `again` it is another request.
  const auto repeated = harness.TrySubmit(SmallSweep("first", 2), "request", 100, /*again=*/true).value();
  EXPECT_EQ(repeated.sweep_id(), response.sweep_id());
  EXPECT_TRUE(absl::IsAlreadyExists(harness.TrySubmit(SmallSweep("first", 2), "request").status()));
}

}  // namespace
}  // namespace inlier
