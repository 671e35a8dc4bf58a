// Lists, logs and SELECTs of the program itself.
#include "coordinator/store/reader.h"

#include "absl/strings/str_cat.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;

class ReaderTest : public StoreTest {};

constexpr char kEndless[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

TEST_F(ReaderTest, SelectThatTakesTooLongIsEnded) {
  Reader reader(database_->path(), 1, std::chrono::milliseconds(30));
  EXPECT_EQ(reader.Select(kEndless).status().ToString(),
            "DEADLINE_EXCEEDED: reading the database took longer than " +
                FormatDuration(std::chrono::milliseconds(30)) + "; is its disk overloaded?");
  EXPECT_TRUE(reader.Select("SELECT 1").ok());
}

TEST_F(ReaderTest, StopEndsSelectsThatRunAndThoseThatCome) {
  int rows = 0;
  const absl::Status status =
      reader_->ForEach(absl::StrCat("SELECT 0 UNION ALL SELECT * FROM (", kEndless, ")"), {},
                       [&](const std::vector<SqlValue>&) {
                         ++rows;
                         reader_->Stop();
                         return absl::OkStatus();
                       });
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(status.ToString(), "UNAVAILABLE: the coordinator is stopping");
  EXPECT_EQ(reader_->Select("SELECT 1").status().ToString(), "UNAVAILABLE: the coordinator is stopping");
}

TEST_F(ReaderTest, NameThatIsNoColumnIsAnErrorAndNoText) {
  MustAddTrial();
  EXPECT_TRUE(reader_->Select("SELECT \"trial\" FROM trials").ok());
  EXPECT_EQ(reader_->Select("SELECT \"no column\" FROM trials").status().code(), absl::StatusCode::kInternal);
}

TEST_F(ReaderTest, RowsAreVisitedUntilAnError) {
  MustApply(Sweep(1), Sweep(2), Sweep(3));
  std::vector<std::int64_t> ids;
  const absl::Status status =
      reader_->ForEach("SELECT id FROM sweep ORDER BY id", {}, [&ids](const std::vector<SqlValue>& row) {
        ids.push_back(Integer(row[0]));
        return ids.size() < 2 ? absl::OkStatus() : absl::CancelledError("enough");
      });
  EXPECT_EQ(status.ToString(), "CANCELLED: enough");
  EXPECT_THAT(ids, ElementsAre(1, 2));
}

TEST_F(ReaderTest, SweepIsFoundByIdAndByItsLatestName) {
  MustApply(Sweep(1, "gamma"), Sweep(2, "zeta"), Sweep(3, "gamma"));
  EXPECT_EQ(*reader_->FindSweep("s-1", ""), SweepId(1));
  EXPECT_EQ(*reader_->FindSweep("gamma", ""), SweepId(3));
  EXPECT_EQ(reader_->FindSweep("gama", "").status().ToString(),
            "NOT_FOUND: there is no sweep \"gama\"; did you mean \"gamma\"?");
  EXPECT_EQ(reader_->FindSweep("s-9", "").status().ToString(),
            "NOT_FOUND: there is no sweep \"s-9\"; known: gamma, zeta");
}

TEST_F(ReaderTest, ANameIsTheCallersOwnSweepFirst) {
  SweepRow first = Sweep(1, "gamma"), second = Sweep(2, "gamma"), third = Sweep(3, "gamma");
  first.owner = "ada";
  second.owner = "ada";
  third.owner = "bob";
  MustApply(first, second, third);
  EXPECT_EQ(*reader_->FindSweep("gamma", "ada"), SweepId(2));
  EXPECT_EQ(*reader_->FindSweep("gamma", "bob"), SweepId(3));
  EXPECT_EQ(*reader_->FindSweep("gamma", "eve"), SweepId(3));
  EXPECT_EQ(*reader_->FindSweep("gamma", ""), SweepId(3));
  EXPECT_EQ(*reader_->FindSweep("s-1", "bob"), SweepId(1));
}

TEST_F(ReaderTest, ErrorReportsThatNothingWasSubmitted) {
  EXPECT_EQ(reader_->FindSweep("gamma", "").status().ToString(),
            "NOT_FOUND: there is no sweep \"gamma\"; none has been submitted yet");
}

TEST_F(ReaderTest, TrialIsFoundById) {
  MustAddTrial();
  EXPECT_EQ(*reader_->FindTrial("t-1"), TrialId(1));
  EXPECT_EQ(reader_->FindTrial("t-2").status().ToString(),
            "NOT_FOUND: there is no trial \"t-2\"; trials are named like t-17, and `inlier status SWEEP` "
            "shows those of "
            "a sweep");
  EXPECT_EQ(reader_->FindTrial("1").status().ToString(),
            "NOT_FOUND: there is no trial \"1\"; trials are named like t-17, and `inlier status SWEEP` shows "
            "those of a "
            "sweep");
}

TEST_F(ReaderTest, SweepStatusCountsTrialsAndSharedStagesOnce) {
  MustTrain();
  MustApply(Evaluate(3, 1), Trial(2, 1, 1, 1, 3), Start(2, 3), TrialIs(2, v1::RUNNING));
  const auto status = reader_->GetSweep(SweepId(1)).value();
  EXPECT_EQ(status.sweep_id(), "s-1");
  EXPECT_EQ(status.spec().description(), "what gamma does");
  EXPECT_EQ(status.trials().pending(), 1u);
  EXPECT_EQ(status.trials().running(), 1u);
  EXPECT_EQ(status.train_stages().total(), 1u);
  EXPECT_EQ(status.train_stages().ended(), 1u);
  EXPECT_EQ(status.evaluate_stages().total(), 2u);
  EXPECT_EQ(status.evaluate_stages().running(), 1u);
  EXPECT_FALSE(status.has_ended_unix_ms());
  EXPECT_EQ(reader_->GetSweep(SweepId(9)).status().ToString(), "NOT_FOUND: there is no sweep s-9");
}

TEST_F(ReaderTest, TrialsComeInPagesWithLabelsAndAttempts) {
  MustTrain();
  MustApply(Trial(2, 1, 1, 1, 2), Trial(3, 1, 2, 1, 2));
  v1::ListTrialsRequest request;
  request.set_sweep("gamma");
  request.set_page_size(2);
  auto page = reader_->ListTrials(request, "").value();
  ASSERT_EQ(page.trials_size(), 2);
  EXPECT_EQ(page.trials(0).trial_id(), "t-1");
  EXPECT_EQ(page.trials(0).labels().at("gamma"), "-0.03");
  EXPECT_EQ(page.trials(0).attempts(), 1u);
  EXPECT_EQ(page.trials(0).train_stage(), "st-1");
  EXPECT_EQ(page.next_page_token(), "t-2");
  request.set_page_token(page.next_page_token());
  page = reader_->ListTrials(request, "").value();
  ASSERT_EQ(page.trials_size(), 1);
  EXPECT_EQ(page.trials(0).trial_id(), "t-3");
  EXPECT_FALSE(page.has_next_page_token());
  request.set_page_token("nonsense");
  EXPECT_EQ(reader_->ListTrials(request, "").status().ToString(),
            "INVALID_ARGUMENT: page_token: not one of an earlier page of trials; start without one");
}

TEST_F(ReaderTest, TrialsAreFilteredByState) {
  MustAddTrial();
  MustApply(Trial(2, 1, 1, 1, 2), TrialIs(2, v1::FAILED, "why"));
  v1::ListTrialsRequest request;
  request.set_sweep("s-1");
  request.set_state(v1::FAILED);
  const auto page = reader_->ListTrials(request, "");
  ASSERT_EQ(page->trials_size(), 1);
  EXPECT_EQ(page->trials(0).trial_id(), "t-2");
  EXPECT_EQ(page->trials(0).message(), "why");
}

TEST_F(ReaderTest, LogsAreOldestFirstFromALineOnOrTheNewest) {
  MustTrain();
  MustApply(Start(2, 2), LogRow{2, "one", {10}}, LogRow{2, "two", {20}}, LogRow{2, "three", {30}});
  const auto newest = reader_->Logs(TrialId(1), 0, 2, /*newest=*/true).value();
  ASSERT_EQ(newest.lines_size(), 2);
  EXPECT_EQ(newest.lines(0).text(), "two");
  EXPECT_EQ(newest.lines(0).stage_id(), "st-2");
  EXPECT_EQ(newest.lines(0).token(), 2u);
  EXPECT_EQ(newest.lines(0).time_unix_ms(), 20);
  EXPECT_EQ(newest.lines(1).text(), "three");
  const auto first = reader_->Logs(TrialId(1), 0, 2, /*newest=*/false);
  ASSERT_EQ(first->lines_size(), 2);
  EXPECT_EQ(first->lines(1).text(), "two");
  const auto rest = reader_->Logs(TrialId(1), first->lines(1).line(), 2, /*newest=*/false);
  ASSERT_EQ(rest->lines_size(), 1);
  EXPECT_EQ(rest->lines(0).text(), "three");
  EXPECT_EQ(reader_->Logs(TrialId(1), rest->lines(0).line(), 2, false)->lines_size(), 0);
  EXPECT_EQ(reader_->Logs(TrialId(1), ~std::uint64_t{0}, 2, true)->lines_size(), 0);
}

// However many lines or trials are asked for.
TEST_F(ReaderTest, APageOfLogsEndsAtItsBytes) {
  MustTrain();
  MustApply(Start(2, 2));
  constexpr int kLines = 100;
  for (int i = 0; i < kLines; ++i) MustApply(LogRow{2, std::to_string(i) + std::string(60'000, 'x'), {i}});
  std::vector<std::string> lines;
  int pages = 0;
  for (std::uint64_t after = 0;; ++pages) {
    const auto page = reader_->Logs(TrialId(1), after, 100'000, /*newest=*/false).value();
    EXPECT_LE(page.ByteSizeLong(), 4u << 20);
    if (page.lines().empty()) break;
    for (const v1::LoggedLine& line : page.lines())
      lines.push_back(line.text().substr(0, line.text().find('x')));
    after = page.lines(page.lines_size() - 1).line();
  }
  EXPECT_EQ(pages, 2);
  ASSERT_EQ(lines.size(), static_cast<std::size_t>(kLines));
  for (int i = 0; i < kLines; ++i) EXPECT_EQ(lines[i], std::to_string(i));
  const auto newest = reader_->Logs(TrialId(1), 0, 100'000, /*newest=*/true);
  EXPECT_LE(newest->ByteSizeLong(), 4u << 20);
  EXPECT_EQ(newest->lines(newest->lines_size() - 1).time_unix_ms(), kLines - 1);
  EXPECT_EQ(newest->lines(0).text(),
            "[this line and those before it are left out: an answer has at most 3 MiB]");
  EXPECT_EQ(newest->lines(1).time_unix_ms(), kLines - newest->lines_size() + 1);
}

TEST_F(ReaderTest, APageOfTrialsEndsAtItsBytes) {
  MustAddTrial();
  constexpr int kTrials = 80;
  const std::string message(60'000, 'm');
  for (int id = 2; id <= kTrials; ++id) {
    MustApply(Trial(id, 1, id, 1, 2), TrialIs(id, v1::FAILED, message));
  }
  v1::ListTrialsRequest request;
  request.set_sweep("s-1");
  request.set_page_size(10'000);
  int trials = 0, pages = 0;
  do {
    const auto page = reader_->ListTrials(request, "").value();
    EXPECT_LE(page.ByteSizeLong(), 4u << 20);
    for (const v1::TrialStatus& trial : page.trials())
      EXPECT_EQ(trial.trial_id(), TrialId(++trials).ToString());
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(trials, kTrials);
  EXPECT_EQ(pages, 2);
}

}  // namespace
}  // namespace inlier
