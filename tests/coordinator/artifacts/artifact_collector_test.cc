// Files that are removed and files that are kept, with a real database and real files.
#include "coordinator/artifacts/artifact_collector.h"

#include <map>
#include <set>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr std::int64_t kHourMs = 3600 * 1000;

class ArtifactCollectorTest : public StoreTest {
 protected:
  ArtifactCollectorTest() { artifacts_ = *ArtifactStore::Open(folder_.path()); }

  static std::string Digest(const std::string& name) { return Sha256Hex(name); }
  static std::string Model(const std::string& name) { return "artifacts/" + Digest(name) + ".safetensors"; }
  // A file last written `age` ago; its path relative to the state folder.
  std::string Write(const std::string& path, Duration age) {
    fs::create_directories((folder_ / path).parent_path());
    folder_.Write(path, "0123456789");
    fs::last_write_time(folder_ / path, fs::file_time_type::clock::now() - age);
    return path;
  }
  static CheckpointRow Saved(Token token, std::uint64_t step, bool final, const std::string& path) {
    CheckpointRow row = Checkpoint(token, step, final);
    if (!final) row.path = path;
    row.sha256 = Digest(path);
    return row;
  }
  static AttemptRow StartAt(Token token, int stage, WallTime at) {
    AttemptRow start = Start(token, stage);
    start.started_at = at;
    return start;
  }

  // Path -> reason of each removal, done or planned.
  std::map<std::string, std::string> Collect(bool dry_run, std::uint32_t keep_days = 7) {
    v1::CollectRequest request;
    request.set_dry_run(dry_run);
    request.set_keep_days(keep_days);
    const auto response =
        CollectArtifacts(folder_.path(), *artifacts_, nullptr, *reader_, request, to_go_, WallNow()).value();
    std::map<std::string, std::string> found;
    for (const v1::CollectedFile& file : response.files()) found[file.path()] = file.reason();
    EXPECT_EQ(response.files_total(), found.size());
    EXPECT_EQ(response.bytes_total(), 10 * found.size());
    kept_ = response.files_kept();
    sweeps_ = {response.sweeps().begin(), response.sweeps().end()};
    return found;
  }
  std::set<std::string> Collected(bool dry_run, std::uint32_t keep_days = 7) {
    std::set<std::string> paths;
    for (const auto& [path, reason] : Collect(dry_run, keep_days)) paths.insert(path);
    return paths;
  }
  bool Exists(const std::string& path) { return fs::exists(folder_ / path); }

  std::unique_ptr<ArtifactStore> artifacts_;
  std::uint64_t kept_ = 0;
  StageFates to_go_;
  std::vector<v1::CollectedSweep> sweeps_;
};

TEST_F(ArtifactCollectorTest, OfAFreedTrainingNothingStays) {
  const CheckpointRow final = Saved(1, 200, true, "the model");
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2), Start(1, 1), final,
            End(1, v1::SUCCEEDED));
  const std::set<std::string> files = {Write(Model("the model"), hours(2)),
                                       Write("attempts/st-1/1/log.txt", hours(2)),
                                       Write("attempts/st-1/1/spec.json", hours(2))};
  EXPECT_EQ(Collected(/*dry_run=*/true), std::set<std::string>());
  to_go_ = {{StageId(1), StageFate::kNoModel}};
  EXPECT_EQ(
      Collect(/*dry_run=*/true),
      (std::map<std::string, std::string>{{Model("the model"), "no rule keeps the model of its training"}}));
  to_go_ = {{StageId(1), StageFate::kFreed}};
  EXPECT_EQ(Collected(/*dry_run=*/true), files);
  ASSERT_EQ(sweeps_.size(), 1u);
  EXPECT_EQ(sweeps_[0].sweep_id(), "s-1");
  EXPECT_EQ(sweeps_[0].files(), 3u);
  EXPECT_EQ(sweeps_[0].bytes(), 30u);
  to_go_.clear();
  MustApply(StageGone{.id = StageId(1), .fate = StageFate::kFreed});
  EXPECT_EQ(Collected(/*dry_run=*/false), files);
  EXPECT_FALSE(Exists("attempts/st-1"));
}

TEST_F(ArtifactCollectorTest, TheModelOfATrainingWithAResultIsKeptAndItsCheckpointsGo) {
  const std::string own = "attempts/st-1/1/checkpoint-10.safetensors";
  const std::string model = "the model";
  CheckpointRow final = Saved(1, 200, true, model);
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2), Start(1, 1), Saved(1, 10, false, own),
            final, End(1, v1::SUCCEEDED));
  Write(Model(model), hours(2));
  Write(own, hours(2));         // Where it was written,
  Write(Model(own), hours(2));  // and as it came by gRPC.
  Write("attempts/st-1/1/log.txt", hours(9000));
  Write("attempts/st-1/1/spec.json", hours(9000));
  const std::set<std::string> expected = {own, Model(own)};
  EXPECT_EQ(Collected(/*dry_run=*/true), expected);
  EXPECT_EQ(kept_, 1u);
  EXPECT_TRUE(Exists(own));  // A dry run removes nothing.
  EXPECT_EQ(Collect(false),
            (std::map<std::string, std::string>{{own, "its training has its result"},
                                                {Model(own), "its training has its result"}}));
  EXPECT_FALSE(Exists(own));
  EXPECT_FALSE(Exists(Model(own)));
  EXPECT_TRUE(Exists(Model(model)));
  EXPECT_TRUE(Exists("attempts/st-1/1/log.txt"));
  EXPECT_TRUE(Exists("attempts/st-1/1/spec.json"));
  EXPECT_TRUE(Collected(false).empty());
}

TEST_F(ArtifactCollectorTest, ATrainingWithoutAResultKeepsTheCheckpointToResumeFrom) {
  const std::string early = "attempts/st-1/1/checkpoint-10.safetensors";
  const std::string late = "attempts/st-1/1/checkpoint-20.safetensors";
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2), StartAt(1, 1, WallNow()),
            Saved(1, 10, false, early), Saved(1, 20, false, late));
  for (const std::string& path : {early, late, Model(early), Model(late)}) Write(path, hours(2));
  // While it runs, everything of it stays.
  EXPECT_TRUE(Collected(true).empty());
  EXPECT_EQ(kept_, 2u);
  MustApply(Fail(1, v1::CRASHED), StageChange{.id = StageId(1), .state = v1::PENDING});
  EXPECT_EQ(Collect(false),
            (std::map<std::string, std::string>{{early, "a later checkpoint has taken its place"},
                                                {Model(early), "a later checkpoint has taken its place"}}));
  EXPECT_TRUE(Exists(late));
  EXPECT_TRUE(Exists(Model(late)));
}

TEST_F(ArtifactCollectorTest, AnArtifactThatNoAttemptReportsIsRemovedAfterItsDays) {
  const std::string old = Write(Model("old"), hours(24 * 8)), young = Write(Model("young"), hours(24 * 6));
  const std::string stray = Write("attempts/st-9/4/checkpoint-1.safetensors", hours(24 * 8));
  EXPECT_EQ(Collect(true), (std::map<std::string, std::string>{{old, "no attempt has reported it"},
                                                               {stray, "no attempt has reported it"}}));
  EXPECT_EQ(Collected(true, 1), (std::set<std::string>{old, young, stray}));
  Write(young, std::chrono::minutes(50));
  EXPECT_EQ(Collected(false, 0), (std::set<std::string>{old, stray}));
  EXPECT_TRUE(Exists(young));
}

// A worker may have finished while the coordinator was down for long, and report its model only now.
TEST_F(ArtifactCollectorTest, AnArtifactThatALiveAttemptMayStillReportIsKept) {
  MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2),
            StartAt(1, 1, WallTime{WallNow().unix_ms - 48 * kHourMs}));
  const std::string its = Write(Model("its"), hours(40)), before = Write(Model("before"), hours(50));
  EXPECT_EQ(Collected(true, 0), std::set<std::string>{before});
  MustApply(Fail(1, v1::LOST), StageChange{.id = StageId(1), .state = v1::PENDING});
  EXPECT_EQ(Collected(true, 0), (std::set<std::string>{its, before}));
}

TEST_F(ArtifactCollectorTest, AbandonedUploadsAreRemovedAfterADay) {
  const std::string sha = Digest("being sent");
  const std::string old = Write(Model("old") + ".part", hours(25)),
                    young = Write(Model("young") + ".part", hours(23));
  auto upload = artifacts_->BeginUpload(sha, 10, 0).value();
  fs::last_write_time(folder_ / (Model("being sent") + ".part"),
                      fs::file_time_type::clock::now() - hours(99));
  EXPECT_EQ(Collected(false, 0), std::set<std::string>{old});
  EXPECT_TRUE(Exists(young));
  EXPECT_TRUE(upload->Write(0, "0123456789").ok());
}

TEST_F(ArtifactCollectorTest, ForeignFilesAreLeftAloneAndLinksAreNotFollowed) {
  Write("elsewhere/kept.safetensors", hours(9000));
  fs::create_directories(folder_ / "attempts/st-1");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "attempts/st-1/1");
  fs::create_symlink(folder_ / "elsewhere/kept.safetensors", folder_ / Model("link"));
  Write("artifacts/notes.txt", hours(9000));
  Write("artifacts/mine.safetensors", hours(9000));
  Write("attempts/readme/1/x.safetensors", hours(9000));
  EXPECT_TRUE(Collected(false, 0).empty());
  EXPECT_TRUE(Exists("elsewhere/kept.safetensors"));
  EXPECT_TRUE(Exists("artifacts/mine.safetensors"));
  EXPECT_TRUE(Exists("artifacts/store.id"));
  EXPECT_TRUE(Exists("attempts/readme/1/x.safetensors"));
}

}  // namespace
}  // namespace inlier
