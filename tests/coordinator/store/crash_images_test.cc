// States after a power cut. A real orchestrator works on a real store while RecordingVfs keeps the writes
// to the disk; then images of the disk are made as they could be after a cut at many points, and each must open
// clean with everything that was acknowledged before the cut, nothing half applied, and the work continues
// from it.
//
// The last tests break the durability on purpose: the same look at the same images must then find something.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <functional>

#include "SQLiteCpp/SQLiteCpp.h"
#include "base/digest.h"
#include "base/files/file_lock.h"
#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/coordinator/store/recording_vfs.h"

namespace inlier {
namespace {

// Every row of every table.
std::string ContentDigest(SQLite::Database& connection) {
  std::vector<std::string> tables;
  SQLite::Statement names(connection, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
  while (names.executeStep()) {
    if (names.getColumn(0).getString() != "identity")
      tables.push_back(names.getColumn(0).getString());  // Random.
  }
  std::string text;
  for (const std::string& table : tables) {
    text += table + "\n";
    SQLite::Statement rows(connection, "SELECT * FROM \"" + table + "\"");
    std::multiset<std::string> lines;
    while (rows.executeStep()) {
      std::string line;
      for (int i = 0; i < rows.getColumnCount(); ++i) line += rows.getColumn(i).getString() + "|";
      lines.insert(line);
    }
    for (const std::string& line : lines) text += line + "\n";
  }
  return Sha256Hex(text);
}

// A state of the database and between which steps of the disk it became durable.
struct Commit {
  std::size_t start = 0;
  std::size_t acknowledged = 0;
  std::string content;  // ContentDigest.
  std::string durable;  // Orchestrator::DurableState.
};

struct History {
  std::vector<DiskStep> steps;
  std::vector<Commit> commits;
};

struct Breakage {
  std::string pragma;            // Run on the writing connection.
  std::string syncs_ignored_of;  // Ending of file names.
};

// A coordinator without its daemon: submissions, workers that run, fail, fall silent, restarts, checkpoints.
class Workload {
 public:
  Workload(std::uint64_t seed, const Breakage& broken)
      : broken_(broken), random_(seed), folder_(MemoryFolder()) {
    vfs_.IgnoreSyncsOf(broken.syncs_ignored_of);
    Open();
  }

  History Run(int rounds) {
    for (int i = 0; i < 3; ++i) workers_.emplace_back("w" + std::to_string(i), 2);
    for (int round = 0; round < rounds; ++round) {
      if (round % 12 == 0) Submit();
      Act(workers_[Pick(workers_.size())]);
      if (Pick(10) == 0) MoveTime();
      if (Pick(12) == 0) CheckpointWal(/*truncate=*/false);
      if (Pick(25) == 0) CheckpointWal(/*truncate=*/true);
      if (Pick(40) == 0) Restart();
    }
    Close();
    return {vfs_.steps(), std::move(commits_)};
  }

 private:
  std::size_t Pick(std::size_t below) { return random_() % below; }

  void Open() {
    database_ = *Database::Open(folder_.path());
    if (!broken_.pragma.empty()) database_->connection().exec(broken_.pragma);
    store_ = std::make_unique<Store>(*database_);
    orchestrator_ = std::make_unique<Orchestrator>(Harness::DefaultOptions());
    const std::size_t start = vfs_.steps().size();
    Effects effects;
    EXPECT_TRUE(orchestrator_->Recover(*store_->Load(), now_, effects).ok());
    Acknowledge(start, effects);
  }
  void Close() {
    orchestrator_.reset();
    store_.reset();
    database_.reset();
  }
  void Restart() {
    Close();
    Open();
  }

  void Acknowledge(std::size_t start, const Effects& effects) {
    if (!effects.changes.empty()) {
      ASSERT_THAT(store_->Apply(effects.changes), IsOk());
    }
    commits_.push_back({start, vfs_.steps().size(), ContentDigest(database_->connection()),
                        DurableState(orchestrator_->state())});
  }
  void Do(const std::function<void(Effects&)>& call) {
    const std::size_t start = vfs_.steps().size();
    Effects effects;
    call(effects);
    Acknowledge(start, effects);
  }

  void Submit() {
    v1::SubmitSweepRequest request;
    const std::string name = "sweep-" + std::to_string(commits_.size());
    *request.mutable_sweep() = SmallSweep(name, 2 + static_cast<int>(Pick(3)), {8, 4});
    request.mutable_sweep()->mutable_base()->mutable_training()->set_steps(
        100 + static_cast<std::uint32_t>(commits_.size()));
    request.set_request_id(name);
    Do([&](Effects& effects) { EXPECT_TRUE(orchestrator_->OnSubmit(request, now_, effects).ok()); });
  }

  void Act(HandWorker& worker) {
    std::vector<Token> running;
    for (const auto& [token, assignment] : worker.running()) running.push_back(token);
    for (const Token token : running) {
      switch (Pick(6)) {
        case 0:
          worker.Emit(token, FailureEvent(v1::CRASHED, "it fell"));
          break;
        case 1:
          break;
        case 2:
          worker.Emit(token, MeasurementEvent("train_loss", 2.5, false));
          break;
        default:
          for (int i = 0; i < 20; ++i) worker.Emit(token, MeasurementEvent("train_loss", i, false));
          worker.Finish(token);
      }
    }
    const v1::WorkerSync sync = worker.Sync();
    Do([&](Effects& effects) {
      const auto reply = orchestrator_->OnSync(sync, now_, effects).value();
      if (Pick(8) != 0) worker.Take(reply);  // Else the answer is lost.
    });
  }

  void CheckpointWal(bool truncate) { EXPECT_TRUE(database_->CheckpointWal(truncate).ok()); }

  void MoveTime() {
    now_.at += std::chrono::seconds(7);
    now_.wall.unix_ms += 7000;
    Do([&](Effects& effects) { orchestrator_->Tick(now_, effects); });
  }

  const Breakage broken_;
  std::mt19937_64 random_;
  RecordingVfs vfs_;
  TemporaryFolder folder_;
  Moment now_{Timestamp{std::chrono::hours(1)}, WallTime{1'700'000'000'000}};
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Orchestrator> orchestrator_;
  std::vector<HandWorker> workers_;
  std::vector<Commit> commits_;
};

// Opens an image as the daemon does; returns its problem, or "".
std::string Judge(const std::filesystem::path& image, const History& history, std::size_t cut) {
  std::ofstream(StateLockPath(image))
      << "1\nnot-made-yet\n";  // An image has the files of SQLite alone; a first start leaves this, too.
  auto database = Database::Open(image);
  if (!database.ok()) return "it does not open: " + database.status().ToString();
  SQLite::Database& connection = (*database)->connection();
  if (const std::string check = connection.execAndGet("PRAGMA integrity_check").getString(); check != "ok")
    return "integrity_check: " + check;
  if (SQLite::Statement keys(connection, "PRAGMA foreign_key_check"); keys.executeStep())
    return "a row refers to one that is not there";
  if (SQLite::Statement ends(
          connection,
          "SELECT 1 FROM sweep WHERE state <> 'ACTIVE' AND NOT EXISTS (SELECT 1 FROM event "
          "WHERE event.sweep = sweep.id AND kind = 'sweep_ended')");
      ends.executeStep())
    return "a sweep has ended without its event";
  const std::string content = ContentDigest(connection);
  const Commit* found = nullptr;
  std::size_t at = 0;
  while (at < history.commits.size() && history.commits[at].acknowledged <= cut) ++at;
  // The last one acknowledged, or the one under way; before the first, the tables as they are made.
  if (at > 0 && history.commits[at - 1].content == content) found = &history.commits[at - 1];
  if (at < history.commits.size() && history.commits[at].start <= cut &&
      history.commits[at].content == content)
    found = &history.commits[at];
  const bool empty = at == 0 && content == history.commits.front().content;
  if (found == nullptr && !empty) return "it holds neither what was acknowledged last nor what was under way";
  Store store(**database);
  auto snapshot = store.Load();
  if (!snapshot.ok()) return "it does not load: " + snapshot.status().ToString();
  Orchestrator orchestrator(Harness::DefaultOptions());
  const Moment now{Timestamp{std::chrono::hours(2)}, WallTime{1'700'000'900'000}};
  Effects effects;
  if (const absl::Status status = orchestrator.Recover(*std::move(snapshot), now, effects); !status.ok())
    return "it does not recover: " + status.ToString();
  CheckInvariants(orchestrator.state());
  if (found != nullptr && DurableState(orchestrator.state()) != found->durable)
    return "recovered to another state";
  // The work continues: a worker joins and takes ready stages.
  HandWorker worker("after-the-cut", 2);
  Effects joined;
  if (!orchestrator.OnSync(worker.Sync(), now, joined).ok()) return "a worker cannot join";
  for (const Effects* made : {&effects, &joined}) {
    if (const auto stats = store.Apply(made->changes); !stats.ok())
      return "it cannot be written: " + stats.status().ToString();
  }
  return "";
}

struct Finding {
  std::size_t cut = 0;
  int loss = 0;
  std::string what;
};

constexpr PowerCut::Loss kLosses[] = {PowerCut::Loss::kNone, PowerCut::Loss::kAll, PowerCut::Loss::kTail,
                                      PowerCut::Loss::kWrites, PowerCut::Loss::kSectors};

// Points to cut at: half of them anywhere, half right after an acknowledgement, when losing hurts most.
std::vector<std::size_t> Cuts(const History& history, std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < count; ++i) {
    cuts.push_back(i % 2 == 0 ? random() % (history.steps.size() + 1)
                              : history.commits[random() % history.commits.size()].acknowledged);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

std::vector<Finding> Explore(std::uint64_t seed, std::size_t images, const Breakage& broken) {
  const History history = Workload(seed, broken).Run(240);
  std::mt19937_64 random(seed);
  PowerCut power(history.steps);
  std::vector<Finding> findings;
  for (const std::size_t cut : Cuts(history, images, random)) {
    power.MoveTo(cut);
    const PowerCut::Loss loss = kLosses[random() % std::size(kLosses)];
    const TemporaryFolder image(MemoryFolder());
    power.Materialise(loss, random, image.path());
    if (std::string what = Judge(image.path(), history, cut); !what.empty())
      findings.push_back({cut, static_cast<int>(loss), std::move(what)});
  }
  return findings;
}

std::string Describe(const std::vector<Finding>& findings) {
  std::string text = std::to_string(findings.size()) + " images are wrong";
  for (std::size_t i = 0; i < std::min<std::size_t>(findings.size(), 5); ++i) {
    text += "\n  cut at step " + std::to_string(findings[i].cut) + ", loss " +
            std::to_string(findings[i].loss) + ": " + findings[i].what;
  }
  return text;
}

class CrashImagesSeedTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CrashImagesSeedTest, EveryImageOpensCleanWithAllThatWasAcknowledged) {
  const std::vector<Finding> findings = Explore(GetParam(), 160, {});
  EXPECT_TRUE(findings.empty()) << Describe(findings);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CrashImagesSeedTest, testing::Values(1, 2, 3, 4));

// A cut in the middle of a migration, of the backup before it, or of the views' renewal after it: the next
// start completes it, and no data is lost.
TEST(CrashImagesTest, MigrationThatWasCutIsDoneAtTheNextStart) {
  std::vector<Migration> migrations = BuiltinMigrations();
  migrations.push_back({.to_version = migrations.back().to_version + 1,
                        .name = "probe",
                        .sql = "CREATE TABLE probe AS SELECT id, name FROM sweep;"
                               "UPDATE sweep SET name = name || '!';"
                               "CREATE INDEX probe_by_name ON probe(name);"});
  RecordingVfs vfs;
  const TemporaryFolder folder(MemoryFolder());
  {
    const auto database = *Database::Open(folder.path());
    Store store(*database);
    for (int i = 1; i <= 60; ++i) {
      ChangeBatch batch;
      SweepRow sweep{.id = SweepId(i), .points = 1, .trials = 1, .submitted_at = {1000}};
      sweep.spec.set_name("s" + std::to_string(i));
      sweep.spec.set_description(std::string(2000, 'd'));
      batch.Add(std::move(sweep));
      ASSERT_TRUE(store.Apply(batch).ok());
    }
  }
  const std::size_t start = vfs.steps().size();
  std::string wanted;
  {
    const auto database = *Database::Open(folder.path(), migrations);
    wanted = ContentDigest(database->connection());
  }
  const std::vector<DiskStep> steps = vfs.steps();
  ASSERT_GT(steps.size(), start + 20);
  std::mt19937_64 random(1);
  PowerCut power(steps);
  int images = 0;
  for (std::size_t cut = start; cut <= steps.size(); cut += 3) {
    power.MoveTo(cut);
    for (const PowerCut::Loss loss : kLosses) {
      const TemporaryFolder image(MemoryFolder());
      power.Materialise(loss, random, image.path());
      const auto database = Database::Open(image.path(), migrations);
      ASSERT_TRUE(database.ok()) << "cut at " << cut << ": " << database.status();
      EXPECT_EQ((*database)->version(), migrations.back().to_version);
      EXPECT_EQ((*database)->connection().execAndGet("PRAGMA integrity_check").getString(), "ok");
      EXPECT_EQ(ContentDigest((*database)->connection()), wanted) << "cut at " << cut;
      ++images;
    }
  }
  EXPECT_GE(images, 100) << "of " << steps.size() - start << " steps";
}

// Proof that the images would show a fault.
TEST(CrashImagesTest, CommitWithoutAnySyncIsCaught) {
  EXPECT_FALSE(Explore(1, 60, {.pragma = "PRAGMA synchronous = OFF", .syncs_ignored_of = ""}).empty());
}

TEST(CrashImagesTest, CommitThatSyncsOnlyAtCheckpointsIsCaught) {
  EXPECT_FALSE(Explore(1, 60, {.pragma = "PRAGMA synchronous = NORMAL", .syncs_ignored_of = ""}).empty());
}

TEST(CrashImagesTest, LogWhoseSyncIsSkippedIsCaught) {
  EXPECT_FALSE(Explore(1, 60, {.pragma = "", .syncs_ignored_of = "-wal"}).empty());
}

TEST(CrashImagesTest, CheckpointThatDoesNotSyncTheDatabaseIsCaught) {
  EXPECT_FALSE(Explore(1, 60, {.pragma = "", .syncs_ignored_of = ".db"}).empty());
}

}  // namespace
}  // namespace inlier
