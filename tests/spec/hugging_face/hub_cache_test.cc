#include "spec/hugging_face/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

Environment Of(const std::map<std::string, std::string>& values) {
  return [values](const char* name) -> const char* {
    static thread_local std::string kept;
    const auto found = values.find(name);
    if (found == values.end()) return nullptr;
    kept = found->second;
    return kept.c_str();
  };
}

TEST(HubCacheTest, TheCacheIsWhereHuggingFaceKeepsIt) {
  EXPECT_EQ(HubCache(Of({{"HOME", "/home/a"}})), "/home/a/.cache/huggingface/hub");
  EXPECT_EQ(HubCache(Of({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/c"}})), "/c/huggingface/hub");
  EXPECT_EQ(HubCache(Of({{"HOME", "/home/a"}, {"HF_HOME", "/hf"}})), "/hf/hub");
  EXPECT_EQ(HubCache(Of({{"HF_HOME", "/hf"}, {"HF_HUB_CACHE", "/hub"}})), "/hub");
}

TEST(HubCacheTest, AModelIsAFolderOrTheSnapshotOfMain) {
  const TemporaryFolder cache;
  const auto model = cache.path() / "models--org--name";
  std::filesystem::create_directories(model / "refs");
  std::filesystem::create_directories(model / "snapshots" / "abc123");
  cache.Write("models--org--name/refs/main", "abc123\n");
  const auto found = FindModel("org/name", cache.path()).value();
  EXPECT_EQ(found, model / "snapshots" / "abc123");
  EXPECT_EQ(*FindModel(cache.path().string(), cache.path()), cache.path());

  const auto error = [&cache](const std::string& name) {
    return std::string(FindModel(name, cache.path()).status().message());
  };
  EXPECT_THAT(error("org/other"), ::testing::EndsWith("download it with `hf download org/other`"));
  EXPECT_THAT(error("./org/other"), ::testing::HasSubstr("there is no such folder; name one"));
  EXPECT_THAT(error("a/b/c"), ::testing::HasSubstr("there is no such folder; name one"));
  cache.Write("models--org--name/refs/main", "gone");
  EXPECT_THAT(error("org/name"), ::testing::HasSubstr("hf download org/name"));
}

}  // namespace
}  // namespace inlier
