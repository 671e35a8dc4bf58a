#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(FileTest, AnAtomicWriteReplacesTheWholeAndLeavesNoOtherFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "f", std::string(100000, 'a')).ok());
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "b").ok());
  EXPECT_EQ(*ReadFile(folder / "f"), "b");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(FileTest, AWriteThatCannotBeReplacedChangesNothing) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "f");  // A folder stands where the file should.
  const absl::Status status = WriteFileAtomically(folder / "f", "b");
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot replace " + (folder / "f").string()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(FileTest, ReadingTellsWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_TRUE(absl::IsNotFound(ReadFile(folder / "no").status()));
  EXPECT_THAT(std::string(ReadFile(folder.path()).status().message()), HasSubstr("is a folder"));
}

TEST(FileTest, ARenameMovesOverWhatIsThere) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "to");
  std::ofstream(folder / "a") << "new";
  std::ofstream(folder / "to/b") << "old";
  ASSERT_TRUE(RenameDurably(folder / "a", folder / "to/b").ok());
  EXPECT_EQ(*ReadFile(folder / "to/b"), "new");
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_TRUE(absl::IsNotFound(RenameDurably(folder / "a", folder / "c")));
}

TEST(FileTest, AWritableFolderIsMadeWithItsParents) {
  const TemporaryFolder folder;
  ASSERT_TRUE(MakeWritableFolder(folder / "x/y/z").ok());
  EXPECT_TRUE(fs::is_empty(folder / "x/y/z"));
  EXPECT_EQ(MakeWritableFolder("/proc/x").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace inlier
