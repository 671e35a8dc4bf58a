#include "base/files/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/files/atomic_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A folder of its own for each test.
class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/inlier_file_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t FilesInFolder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(FileTest, ReplacedFileKeepsItsPermissionsAndANewOneGetsThoseAskedFor) {
  const auto mode = [this] { return fs::status(folder_ / "f").permissions() & fs::perms::all; };
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "one", 0600).ok());
  EXPECT_EQ(mode(), fs::perms(0600));
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "two").ok());
  EXPECT_EQ(mode(), fs::perms(0600));
  fs::permissions(folder_ / "f", fs::perms(0640));
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "three", 0600).ok());
  EXPECT_EQ(mode(), fs::perms(0640));
}

// Another user's file or link at the path of a secret: its owner could read what is put there.
TEST_F(FileTest, ASecretIsInAFreshFileOfItsWriter) {
  const fs::path path = folder_ / "token", theirs = folder_ / "theirs";
  const auto check = [&] {
    ASSERT_TRUE(WriteSecretFile(path, "secret").ok());
    struct stat info = {};
    ASSERT_EQ(::lstat(path.c_str(), &info), 0);
    EXPECT_TRUE(S_ISREG(info.st_mode));
    EXPECT_EQ(info.st_mode & 07777, 0600u);
    EXPECT_EQ(info.st_uid, ::geteuid());
    EXPECT_EQ(*ReadFile(path), "secret");
  };
  check();
  fs::permissions(path, fs::perms(0666));
  check();
  fs::remove(path);
  ASSERT_TRUE(WriteFileAtomically(theirs, "old").ok());
  fs::create_symlink(theirs, path);
  check();
  EXPECT_EQ(*ReadFile(theirs), "old");
  if (::geteuid() != 0) GTEST_SKIP() << "giving a file to another user needs root";
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  check();
}

TEST_F(FileTest, AFileThatReplacesALinkTakesNothingOfItsTarget) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "target", "old").ok());
  fs::permissions(folder_ / "target", fs::perms(0666));
  fs::create_symlink(folder_ / "target", folder_ / "link");
  ASSERT_TRUE(WriteFileAtomically(folder_ / "link", "new", 0600).ok());
  EXPECT_EQ(fs::status(folder_ / "link").permissions() & fs::perms::all, fs::perms(0600));
  EXPECT_EQ(*ReadFile(folder_ / "target"), "old");
}

TEST_F(FileTest, WrittenTextIsReadBack) {
  const std::string content("a\0b\r\n", 5);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", content).ok());
  EXPECT_EQ(ReadFile(folder_ / "f").value(), content);
  EXPECT_EQ(SizeOf(folder_ / "f"), content.size());
  EXPECT_EQ(SizeOf(folder_ / "other"), 0u);
  EXPECT_EQ(SizeOf(folder_), 0u);
}

TEST_F(FileTest, ReplacingLeavesOneFileThatOthersMayRead) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "old, and longer").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "new").ok());
  EXPECT_EQ(*ReadFile(folder_ / "f"), "new");
  EXPECT_EQ(FilesInFolder(), 1u);
  EXPECT_EQ(fs::status(folder_ / "f").permissions() & fs::perms::others_read, fs::perms::others_read);
}

TEST_F(FileTest, PermissionsAreKeptAndNewFilesGetTheirsFromTheMask) {
  const auto mode = [this](const char* name) {
    struct stat info = {};
    EXPECT_EQ(::stat((folder_ / name).c_str(), &info), 0);
    return info.st_mode & 0777;
  };
  const mode_t mask = ::umask(0077);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "closed", "x").ok());
  ::umask(0022);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "open", "x").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ / "secret", "x", 0600).ok());
  EXPECT_EQ(mode("closed"), 0600u);
  EXPECT_EQ(mode("open"), 0644u);
  EXPECT_EQ(mode("secret"), 0600u);
  fs::permissions(folder_ / "open", fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  for (const char* name : {"closed", "open", "secret"}) {
    const auto before = mode(name);
    ASSERT_TRUE(WriteFileAtomically(folder_ / name, "y").ok());
    EXPECT_EQ(mode(name), before) << name;
    EXPECT_EQ(*ReadFile(folder_ / name), "y");
  }
  ::umask(mask);
}

TEST_F(FileTest, SmallFilesMayBePipesAndMustBeSmall) {
  EXPECT_EQ(*ReadSmallFile("/dev/null", 10), "");
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", "0123456789").ok());
  EXPECT_EQ(*ReadSmallFile(folder_ / "f", 10), "0123456789");
  EXPECT_THAT(std::string(ReadSmallFile(folder_ / "f", 9).status().message()),
              HasSubstr("more than 9 bytes"));
  EXPECT_THAT(std::string(ReadSmallFile("/dev/zero", 1000).status().message()), HasSubstr("more than 1000"));
  EXPECT_EQ(ReadSmallFile(folder_ / "none", 1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FileTest, AFailedReplacementLeavesTheOldFileAndNothingElse) {
  fs::create_directory(folder_ / "taken");
  const absl::Status status = WriteFileAtomically(folder_ / "taken", "x");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("taken"));
  EXPECT_TRUE(fs::is_directory(folder_ / "taken"));
  EXPECT_EQ(FilesInFolder(), 1u) << "the half-made file is gone";
}

TEST_F(FileTest, MissingFilesAreNamed) {
  const absl::Status status = ReadFile(folder_ / "none").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr((folder_ / "none").string())));
  EXPECT_THAT(std::string(ReadFile(folder_).status().message()), HasSubstr("is a folder"));
  EXPECT_FALSE(WriteFileAtomically(folder_ / "no" / "f", "x").ok());
}

TEST_F(FileTest, APlainWriteReplacesTheWholeContent) {
  ASSERT_TRUE(WriteFile(folder_ / "f", "a long content").ok());
  ASSERT_TRUE(WriteFile(folder_ / "f", "short").ok());
  EXPECT_EQ(*ReadFile(folder_ / "f"), "short");
  EXPECT_THAT(WriteFile(folder_ / "no" / "f", "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr((folder_ / "no" / "f").string())));
}

TEST_F(FileTest, RenameReplacesTheTarget) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "a", "1").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ / "b", "2").ok());
  ASSERT_TRUE(RenameDurably(folder_ / "a", folder_ / "b").ok());
  EXPECT_EQ(*ReadFile(folder_ / "b"), "1");
  EXPECT_EQ(FilesInFolder(), 1u);
  EXPECT_FALSE(RenameDurably(folder_ / "a", folder_ / "b").ok()) << "a is gone";
}

TEST_F(FileTest, AWritableFolderIsMadeWithItsParentsAndLeftEmpty) {
  ASSERT_TRUE(MakeWritableFolder(folder_ / "x" / "y").ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "x" / "y"));
  ASSERT_TRUE(MakeWritableFolder(folder_ / "x" / "y").ok());
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THAT(MakeWritableFolder(folder_ / "file" / "below"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("name another one")));
}

}  // namespace
}  // namespace inlier
