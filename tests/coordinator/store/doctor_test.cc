// The doctor against sound folders (silence), and against every kind of damage it claims to see: each is made
// here in a real database or folder, behind the back of the constraints where need be.
#include "coordinator/store/doctor.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>

#include "base/digest.h"
#include "coordinator/store/backup.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DoctorTest : public StoreTest {
 protected:
  DoctorReport Examine(const DoctorOptions& options = {}) {
    return ExamineStateFolder(folder_.path(), options).value();
  }
  // "check: what", problems only.
  static std::vector<std::string> Problems(const DoctorReport& report) {
    std::vector<std::string> problems;
    for (const Finding& finding : report.findings) {
      if (finding.problem) problems.push_back(finding.check + ": " + finding.what);
    }
    return problems;
  }
  // A trained and evaluated trial, its checkpoint where it belongs.
  void MustFinish() {
    MustAddTrial();
    std::filesystem::create_directories(folder_.path() / "artifacts");
    std::filesystem::create_directories(folder_.path() / "attempts" / "st-1" / "1");
    const std::string path = "artifacts/" + digest_ + ".safetensors";
    std::ofstream(folder_.path() / path, std::ios::binary) << kWeights;
    CheckpointRow checkpoint = Checkpoint(1, 200, true);
    checkpoint.sha256 = digest_;
    checkpoint.bytes = kWeights.size();
    MustApply(Start(1, 1), checkpoint, End(1, v1::SUCCEEDED));
    MustApply(Start(2, 2), Final(2, "perplexity", 12.5), End(2, v1::SUCCEEDED), TrialIs(1, v1::SUCCEEDED));
  }

  static constexpr std::string_view kWeights = "the weights";
  const std::string digest_ = Sha256Hex(kWeights);
};

TEST_F(DoctorTest, NewFolderAndFinishedOneAreHealthyAndSilent) {
  EXPECT_THAT(Examine().findings, IsEmpty());
  MustFinish();
  const DoctorReport report = Examine({.deep = true});
  EXPECT_THAT(report.findings, IsEmpty()) << report.findings[0].what;
  EXPECT_TRUE(report.healthy());
  EXPECT_EQ(report.schema_version, database_->version());
  EXPECT_GE(report.checks.size(), StoreRules().size() + 6);
}

TEST_F(DoctorTest, EveryRuleSeesTheDamageItIsFor) {
  const std::map<std::string, std::string> damages = {
      {"one_live_attempt",
       "DROP INDEX attempt_one_live; UPDATE attempt SET ended_ms = NULL, outcome = NULL; INSERT INTO "
       "attempt (token, stage, number, sweep, worker, slot, started_ms) VALUES (9, 1, 2, 1, 'w', 0, 0)"},
      {"one_result",
       "DROP INDEX attempt_one_result; INSERT INTO attempt (token, stage, number, sweep, worker, slot, "
       "started_ms, ended_ms, outcome) VALUES (9, 1, 2, 1, 'w', 0, 0, 1, 'DIVERGED')"},
      {"result_is_of_its_stage", "UPDATE stage SET result_token = 2 WHERE id = 1"},
      {"result_is_taken", "UPDATE stage SET result_token = NULL, state = 'PENDING' WHERE id = 2"},
      {"live_attempt_of_an_open_stage",
       "DROP INDEX attempt_one_result; UPDATE attempt SET ended_ms = NULL, outcome = NULL WHERE token = 1"},
      {"one_fingerprint", "UPDATE stage SET fingerprint = X'00'"},
      {"data_of_a_result", "UPDATE attempt SET dataset_digest = 'ab' WHERE token = 2"},
      {"specification_of_a_stage", "UPDATE stage SET spec = '{' WHERE id = 2"},
      {"specification_of_a_trial", "UPDATE trial SET train_stage = NULL, evaluate_stage = NULL, spec = ''"},
      {"trained_has_a_checkpoint", "DELETE FROM artifact"},
      {"evaluated_after_training", "UPDATE stage SET checkpoint = NULL WHERE id = 1"},
      {"trained_after_its_start", "UPDATE stage SET start_stage = 1, checkpoint = NULL WHERE id = 1"},
      {"success_of_a_trial", "UPDATE stage SET state = 'FAILED' WHERE id = 2"},
      {"divergence_of_a_trial", "UPDATE trial SET state = 'DIVERGED'"},
      {"open_trial_has_open_stages", "UPDATE trial SET state = 'PENDING'"},
      {"imported_never_runs", "UPDATE attempt SET worker = '' WHERE token = 1"},
      {"complete_sweep_has_ended",
       "UPDATE sweep SET state = 'COMPLETE', ended_ms = 9; UPDATE trial SET state = 'PENDING'"},
      {"token_below_next", "UPDATE meta SET value = 1"},
      {"acknowledged_sequence",
       "INSERT INTO worker (incarnation, name, host, version, slots, devices, draining, connected, "
       "last_seen_ms, "
       "acknowledged_sequence) VALUES ('w', 'n', 'h', 'v', 1, '[]', 0, 1, 1, -4)"},
      {"worker_of_a_live_attempt",
       "INSERT INTO attempt (token, stage, number, sweep, worker, slot, started_ms) VALUES (9, 1, 2, 1, "
       "'unknown', 0, 0)"},
      {"artifact_path", "UPDATE artifact SET final = 0, saved_as = 'artifacts/../../etc/passwd'"},
  };
  const TemporaryFolder sound;
  MustFinish();
  Close();
  ASSERT_TRUE(Database::Open(folder_.path()).ok());  // Moves the log into the file.
  std::filesystem::copy_file(folder_.path() / "inlier.db", sound.path() / "inlier.db");
  for (const StoreRule& rule : StoreRules()) {
    ASSERT_TRUE(damages.contains(rule.name)) << "a rule without a test: " << rule.name;
    std::filesystem::copy_file(sound.path() / "inlier.db", folder_.path() / "inlier.db",
                               std::filesystem::copy_options::overwrite_existing);
    Open();
    Damage(damages.at(rule.name));
    const DoctorReport report = Examine();
    EXPECT_THAT(report.findings, Contains(Field(&Finding::check, std::string(rule.name)))) << rule.name;
    EXPECT_FALSE(report.healthy());
    Close();
    std::filesystem::remove(folder_.path() / "inlier.db-wal");
    std::filesystem::remove(folder_.path() / "inlier.db-shm");
  }
}

TEST_F(DoctorTest, BrokenForeignKeyIsNamed) {
  MustFinish();
  Damage("UPDATE trial SET sweep = 77");
  EXPECT_THAT(Problems(Examine()),
              Contains("foreign_keys: row 1 of trial names a row of sweep that is not there"));
}

TEST_F(DoctorTest, MissingChangedAndUnknownFilesAreReported) {
  MustFinish();
  const std::filesystem::path file = folder_.path() / "artifacts" / (digest_ + ".safetensors");
  std::ofstream(folder_.path() / "artifacts" / (std::string(64, 'a') + ".safetensors")) << "x";
  std::filesystem::create_directories(folder_.path() / "attempts" / "st-9" / "77");
  DoctorReport report = Examine();
  EXPECT_TRUE(report.healthy());
  EXPECT_THAT(report.findings, SizeIs(2));
  EXPECT_THAT(report.findings, Contains(AllOf(Field(&Finding::check, "attempt_folder"),
                                              Field(&Finding::what, HasSubstr("attempts/st-9/77")))));
  EXPECT_THAT(report.findings, Contains(Field(&Finding::check, "artifact_file")));

  std::ofstream(file, std::ios::binary) << "the weightz";  // As long as before.
  const auto changed = ElementsAre(AllOf(StartsWith("artifact_row: "), HasSubstr("has the SHA-256")));
  EXPECT_THAT(Problems(Examine()), changed);
  EXPECT_THAT(Problems(Examine({.deep = true, .read_bytes_max = 10})), changed);
  report = Examine({.read_bytes_max = 10});
  EXPECT_TRUE(report.healthy());
  EXPECT_THAT(report.findings,
              Contains(Field(&Finding::what, "11 bytes of artifacts and checkpoints were not read")));
  std::ofstream(file, std::ios::binary) << "short";
  EXPECT_THAT(Problems(Examine()), ElementsAre(HasSubstr("has 5 bytes, recorded are 11")));
  std::filesystem::remove(file);
  EXPECT_THAT(Problems(Examine()), ElementsAre("artifact_row: " + file.string() + " is missing"));
  MustApply(StageGone{.id = StageId(1), .fate = StageFate::kNoModel});
  EXPECT_THAT(Problems(Examine()), testing::IsEmpty()) << "a rule let it go";
}

TEST_F(DoctorTest, ADamagedCheckpointIsNamedAndIsNoProblem) {
  MustAddTrial();
  CheckpointRow checkpoint = Checkpoint(1, 100, false);
  checkpoint.path = "attempts/st-1/1/step-100.safetensors";
  checkpoint.sha256 = digest_;
  MustApply(Start(1, 1), checkpoint, Fail(1, v1::LOST));
  const std::filesystem::path file = folder_.path() / checkpoint.path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << kWeights;
  EXPECT_THAT(Examine().findings, IsEmpty());
  std::ofstream(file, std::ios::binary) << "the weightz";
  const DoctorReport report = Examine();
  EXPECT_TRUE(report.healthy());
  EXPECT_THAT(report.findings, ElementsAre(AllOf(Field(&Finding::check, "checkpoint"),
                                                 Field(&Finding::what, HasSubstr("has the SHA-256")))));
}

// The training would begin again, in silence.
TEST_F(DoctorTest, AMissingCheckpointToContinueFromIsNamed) {
  MustAddTrial();
  MustApply(WorkerRow{.incarnation = "w-uuid", .name = "gpu-1", .host = "h", .version = "1", .slots = 1},
            Start(1, 1), Checkpoint(1, 100, false), Checkpoint(1, 200, false));
  std::filesystem::create_directories(folder_.path() / "artifacts");
  std::filesystem::create_directories(folder_.path() / "attempts" / "1");
  const std::filesystem::path newest = folder_.path() / "attempts" / "1" / "200.safetensors";
  std::ofstream(newest) << "x";
  EXPECT_THAT(Problems(Examine()), IsEmpty());
  const std::filesystem::path later = newest.parent_path() / "300.safetensors";
  std::filesystem::rename(newest, later);  // The training has written another one, which is not stored yet.
  EXPECT_THAT(Problems(Examine()), IsEmpty());
  std::filesystem::remove(later);
  EXPECT_THAT(Problems(Examine()),
              ElementsAre("checkpoint: " + newest.string() +
                          ", from which training st-1 is to continue at step 200, is missing"));
  const std::filesystem::path fetched =
      folder_.path() / "artifacts" / (Checkpoint(1, 200, false).sha256 + ".safetensors");
  std::ofstream(fetched) << "x";
  EXPECT_THAT(Problems(Examine()), IsEmpty());
}

TEST_F(DoctorTest, NewerSchemaIsAProblemThatNamesBothVersions) {
  database_->connection().exec("PRAGMA user_version = 777");
  EXPECT_THAT(
      Problems(Examine()),
      ElementsAre(AllOf(HasSubstr("schema version 777"),
                        HasSubstr("knows " + std::to_string(BuiltinMigrations().back().to_version)))));
}

TEST_F(DoctorTest, DamagedFileIsAProblemAndNothingMoreIsClaimed) {
  MustFinish();
  DamageDatabase();
  const DoctorReport report = Examine();
  EXPECT_FALSE(report.healthy());
  EXPECT_THAT(Problems(report), Contains(StartsWith("integrity: ")));
}

TEST_F(DoctorTest, RepairIsRefusedWhileACoordinatorHasTheFolder) {
  MustFinish();
  Damage("UPDATE meta SET value = 1");
  const auto repaired = RepairStateFolder(folder_.path(), Examine());
  EXPECT_EQ(repaired.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Problems(Examine()), SizeIs(1));
}

TEST_F(DoctorTest, RepairRaisesTheNextTokenAfterABackupAndLeavesTheRest) {
  MustFinish();
  Damage("UPDATE meta SET value = 1; UPDATE artifact SET bytes = 999");
  Close();
  const auto done = RepairStateFolder(folder_.path(), Examine()).value();
  ASSERT_THAT(done, SizeIs(2));
  EXPECT_THAT(done[0], HasSubstr("before-repair"));
  EXPECT_THAT(done[1], StartsWith("token_below_next"));
  EXPECT_THAT(Problems(Examine()), ElementsAre(HasSubstr("recorded are 999")));
  const std::string backup = done[0].substr(done[0].find('/'));
  SQLite::Database before(backup);
  EXPECT_EQ(before.execAndGet("SELECT value FROM meta").getInt(), 1);
  Open();
  EXPECT_EQ(store_->Load()->next_token, 3u);
  EXPECT_THAT(Rows("SELECT count(*) FROM attempt"), ElementsAre("2"));
}

TEST_F(DoctorTest, RepairRebuildsADamagedIndex) {
  MustFinish();
  // An index that was made for fewer rows than the table has.
  SQLite::Database& connection = database_->connection();
  sqlite3_db_config(connection.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  connection.exec(
      "DROP INDEX attempt_by_stage; CREATE INDEX attempt_by_stage ON attempt(stage) WHERE token > 1;"
      "PRAGMA writable_schema = ON;"
      "UPDATE sqlite_schema SET sql = 'CREATE INDEX attempt_by_stage ON attempt(stage)' "
      "WHERE name = 'attempt_by_stage'; PRAGMA writable_schema = OFF");
  Close();
  const DoctorReport report = Examine();
  ASSERT_THAT(Problems(report), Contains(HasSubstr("attempt_by_stage")));
  const auto done = RepairStateFolder(folder_.path(), report).value();
  EXPECT_THAT(done, Contains("rebuilt the indexes from their tables"));
  EXPECT_THAT(Problems(Examine()), IsEmpty());
}

TEST_F(DoctorTest, OldLeftoversAreRemovedAndFreshOnesAreNot) {
  Close();
  const auto make = [&](const std::string& name, std::chrono::hours age) {
    std::ofstream(folder_.path() / name) << "x";
    std::filesystem::last_write_time(folder_.path() / name,
                                     std::filesystem::file_time_type::clock::now() - age);
  };
  make("inlier.db.v1.x.backup.AbCdEf.part", std::chrono::hours(5));
  make("endpoint.json.AbCdEf", std::chrono::hours(5));
  make("endpoint.json.GhIjKl", std::chrono::hours(0));  // Being written now.
  make("inlier.db.v1.x.backup", std::chrono::hours(5));
  make("notes.part", std::chrono::hours(5));
  const DoctorReport report = Examine();
  EXPECT_TRUE(report.healthy());
  EXPECT_THAT(report.findings, SizeIs(2));
  EXPECT_THAT(RepairStateFolder(folder_.path(), report).value(), SizeIs(2));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "inlier.db.v1.x.backup.AbCdEf.part"));
  for (const char* name : {"endpoint.json.GhIjKl", "inlier.db.v1.x.backup", "notes.part", "inlier.db"})
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / name)) << name;
}

}  // namespace
}  // namespace inlier
