#include "worker/attempt_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/digest.h"
#include "base/files/file.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

v1::CheckpointSaved Saved(const std::string& path, const std::string& content) {
  v1::CheckpointSaved saved;
  saved.set_path(path);
  saved.set_sha256(Sha256Hex(content));
  saved.set_final(true);
  return saved;
}

TEST(AttemptFolderTest, StageIdsThatCouldLeaveTheFolderAreRefused) {
  EXPECT_EQ(*AttemptFolder("/s", "st-1_a.b", 7), fs::path("/s/attempts/st-1_a.b/7"));
  for (const char* id : {"", ".", "..", "../x", "a/b", ".hidden", "a b", "a\n"}) {
    EXPECT_EQ(AttemptFolder("/s", id, 7).status().code(), absl::StatusCode::kInvalidArgument) << id;
  }
}

TEST(AttemptFolderTest, PathsFromOutsideStayBelowTheirFolder) {
  EXPECT_EQ(*PathBelow("/s", "attempts/x/./3/c.safetensors"), fs::path("/s/attempts/x/3/c.safetensors"));
  for (const char* path : {"", ".", "..", "/etc/passwd", "../x", "a/../../x"}) {
    EXPECT_EQ(PathBelow("/s", path).status().code(), absl::StatusCode::kInvalidArgument) << path;
  }
}

TEST(AttemptFolderTest, ArtifactsAreNamedByASha256Only) {
  const std::string digest(64, 'a');
  EXPECT_EQ(*ArtifactPath("/s", digest), fs::path("/s/artifacts/" + digest + ".safetensors"));
  for (const std::string& name :
       {std::string("x"), std::string(64, 'A'), std::string(64, '.'), std::string()}) {
    EXPECT_FALSE(ArtifactPath("/s", name).ok()) << name;
  }
}

TEST(AttemptFolderTest, TheModelMovesToItsDigest) {
  const TemporaryFolder state;
  const fs::path folder = state.path() / "attempts/st/3";
  Write(folder / "model.safetensors", "weights");
  const v1::CheckpointSaved saved = Saved("model.safetensors", "weights");
  ASSERT_TRUE(PublishArtifact(state.path(), folder, saved).ok());
  EXPECT_FALSE(fs::exists(folder / "model.safetensors"));
  EXPECT_EQ(*ReadFile(*ArtifactPath(state.path(), saved.sha256())), "weights");
  // The same model of another attempt is the same artifact.
  Write(folder / "model.safetensors", "weights");
  EXPECT_TRUE(PublishArtifact(state.path(), folder, saved).ok());
}

TEST(AttemptFolderTest, AModelWithAnotherDigestThanNamedIsNotPublished) {
  const TemporaryFolder state;
  const fs::path folder = state.path() / "attempts/st/3";
  Write(folder / "model.safetensors", "weights, damaged");
  const absl::Status status = PublishArtifact(state.path(), folder, Saved("model.safetensors", "weights"));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the trial reported " + Sha256Hex("weights")));
  EXPECT_FALSE(fs::exists(state.path() / "artifacts"));
}

TEST(AttemptFolderTest, AMissingModelIsNotFound) {
  const TemporaryFolder state;
  EXPECT_TRUE(absl::IsNotFound(
      PublishArtifact(state.path(), state.path() / "attempts/st/3", Saved("model.safetensors", "w"))));
}

TEST(AttemptFolderTest, AfterSuccessOnlyLogsAndSpecsOfTheStageRemain) {
  const TemporaryFolder state;
  for (const char* token : {"3", "5"}) {
    const fs::path folder = state.path() / "attempts/st" / token;
    Write(folder / "checkpoint-10.safetensors", "x");
    Write(folder / "log.txt", "log");
    Write(folder / "spec.json", "{}");
    Write(folder / "rank-2/log.txt", "log");
  }
  Write(state.path() / "attempts/other/4/checkpoint-10.safetensors", "x");
  ASSERT_TRUE(RemoveOldCheckpoints(state.path(), "st", 5).ok());
  for (const char* token : {"3", "5"}) {
    const fs::path folder = state.path() / "attempts/st" / token;
    EXPECT_FALSE(fs::exists(folder / "checkpoint-10.safetensors"));
    EXPECT_TRUE(fs::exists(folder / "log.txt"));
    EXPECT_TRUE(fs::exists(folder / "spec.json"));
    EXPECT_TRUE(fs::exists(folder / "rank-2/log.txt"));
  }
  EXPECT_TRUE(fs::exists(state.path() / "attempts/other/4/checkpoint-10.safetensors"));
}

TEST(AttemptFolderTest, NothingIsRemovedWhileANewerAttemptMayReadIt) {
  const TemporaryFolder state;
  Write(state.path() / "attempts/st/3/checkpoint-10.safetensors", "x");
  Write(state.path() / "attempts/st/6/spec.json", "{}");
  ASSERT_TRUE(RemoveOldCheckpoints(state.path(), "st", 5).ok());
  EXPECT_TRUE(fs::exists(state.path() / "attempts/st/3/checkpoint-10.safetensors"));
}

TEST(AttemptFolderTest, AFolderThatCannotBeMadeIsNamedWithTheRemedy) {
  const TemporaryFolder state;
  Write(state / "attempts", "a file, not a folder");
  const absl::Status status = PrepareAttemptFolder(state.path() / "attempts/st/3", {});
  EXPECT_THAT(std::string(status.message()), HasSubstr((state.path() / "attempts/st/3").string()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("name another one"));
}

}  // namespace
}  // namespace inlier
