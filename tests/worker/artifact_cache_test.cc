// The bound on what a worker keeps of streamed checkpoints.
#include "worker/artifact_cache.h"

#include <gtest/gtest.h>

#include <set>

#include "base/data/checked_files.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

class ArtifactCacheTest : public testing::Test {
 protected:
  // A file of 100 bytes, last used so long ago.
  void Write(const std::string& path, int minutes_ago) {
    fs::create_directories((folder_ / path).parent_path());
    folder_.Write(path, std::string(100, 'x'));
    fs::last_write_time(folder_ / path, fs::file_time_type::clock::now() - std::chrono::minutes(minutes_ago));
  }
  std::set<std::string> Left() {
    std::set<std::string> left;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) left.insert(entry.path().lexically_relative(folder_.path()).string());
    }
    return left;
  }
  TemporaryFolder folder_;
};

TEST_F(ArtifactCacheTest, TheLeastRecentlyUsedGoUntilTheRestFits) {
  Write("artifacts/a.safetensors", 1);
  Write("artifacts/b.safetensors", 4);
  Write("artifacts/c.safetensors", 3);
  Write("attempts/st-1/7/checkpoint-10.safetensors", 5);
  Write("attempts/st-1/7/log.txt", 9);
  const auto none = [](const fs::path&) { return false; };
  EXPECT_EQ(TrimArtifactCache(folder_.path(), 400, none).removed, 0u);
  EXPECT_EQ(Left().size(), 5u);
  EXPECT_EQ(TrimArtifactCache(folder_.path(), 250, none).removed, 200u);
  EXPECT_EQ(Left(), (std::set<std::string>{"artifacts/a.safetensors", "artifacts/c.safetensors",
                                           "attempts/st-1/7/log.txt"}));
  Write("artifacts/a.safetensors", 60);
  CheckedFiles().MarkUsed(folder_ / "artifacts/a.safetensors");
  EXPECT_EQ(TrimArtifactCache(folder_.path(), 100, none).removed, 100u);
  EXPECT_EQ(Left(), (std::set<std::string>{"artifacts/a.safetensors", "attempts/st-1/7/log.txt"}));
}

TEST_F(ArtifactCacheTest, FilesInUseStayAndCount) {
  Write("artifacts/a.safetensors", 9);
  Write("artifacts/b.safetensors", 1);
  const auto a_is_used = [](const fs::path& path) { return path.filename() == "a.safetensors"; };
  EXPECT_EQ(TrimArtifactCache(folder_.path(), 100, a_is_used).removed, 100u);
  EXPECT_EQ(Left(), std::set<std::string>{"artifacts/a.safetensors"});
  EXPECT_EQ(TrimArtifactCache(folder_.path(), 50, a_is_used).removed, 0u);
  EXPECT_EQ(Left(), std::set<std::string>{"artifacts/a.safetensors"});
}

// An hour of small trials: with a look at all files for each that came, the worker took a quarter of a core
// for it.
TEST(CacheRoomTest, TheCacheIsLookedAtOnceForManyFilesThatCome) {
  CacheRoom room(1000);
  EXPECT_TRUE(room.Take(1)) << "the cache has not been trimmed yet";
  room.Trimmed(200);
  for (int i = 0; i < 39; ++i) EXPECT_FALSE(room.Take(10));
  EXPECT_TRUE(room.Take(10)) << "half of the 800 that were left";
  room.Trimmed(600);
  EXPECT_FALSE(room.Take(199));
  EXPECT_TRUE(room.Take(1));
}

TEST(CacheRoomTest, AFullCacheIsLookedAtEachTime) {
  CacheRoom room(1000);
  room.Trimmed(1000);
  EXPECT_TRUE(room.Take(0));
  room.Trimmed(5000);
  EXPECT_TRUE(room.Take(1));
}

}  // namespace
}  // namespace inlier
