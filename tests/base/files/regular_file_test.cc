// Files that people name: only regular ones are opened, at once, and only below the roots.
#include "base/files/regular_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/mapped_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// Every way to open a file, each with its message for `path`.
std::vector<absl::Status> OpenInAllWays(const fs::path& path, const DataRoots& roots = {}) {
  return {RegularFile::Open(path, roots).status(), MappedFile::Open(path, roots).status(),
          Sha256HexOfFile(path, roots).status()};
}

TEST(RegularFileTest, AFileIsReadInPieces) {
  TemporaryFolder folder;
  const auto file = RegularFile::Open(folder.Write("f", "0123456789")).value();
  EXPECT_EQ(file.size(), 10u);
  std::string bytes(4, '-');
  EXPECT_EQ(*file.ReadAt(3, bytes.data(), 4), 4u);
  EXPECT_EQ(bytes, "3456");
  EXPECT_EQ(*file.ReadAt(8, bytes.data(), 4), 2u);
  EXPECT_EQ(*file.ReadAt(20, bytes.data(), 4), 0u);
}

// None of them may block: a pipe without a writer would, and /dev/zero has no end.
TEST(RegularFileTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (folder / "socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  fs::create_symlink("/dev/zero", folder / "link");
  for (const auto& [path, kind] :
       std::vector<std::pair<fs::path, std::string>>{{folder / "pipe", "a pipe"},
                                                     {folder / "socket", "a socket"},
                                                     {folder.path(), "a folder"},
                                                     {"/dev/zero", "a device"},
                                                     {"/dev/null", "a device"},
                                                     {folder / "link", "a device"}}) {
    for (const absl::Status& status : OpenInAllWays(path)) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                   path.string() + " is " + kind + ", not a regular file"))
          << path;
    }
    EXPECT_FALSE(ReadFile(path).ok());
  }
  ::close(socket);
  EXPECT_EQ(RegularFile::Open(folder / "none").status().code(), absl::StatusCode::kNotFound);
}

TEST(RegularFileTest, OnlyFilesBelowTheRootsAreOpened) {
  TemporaryFolder data, other;
  const fs::path inside = data.Write("in.txt", "in"), outside = other.Write("out.txt", "out");
  fs::create_directories(data / "deep/er");
  fs::create_symlink(outside, data / "leaves");
  fs::create_symlink(other.path(), data / "deep/leaves");
  fs::create_symlink(inside, data / "deep/stays");
  const DataRoots roots = DataRoots::Below({data.path()});
  for (const fs::path& path : {inside, data / "deep/stays", data / "deep/../in.txt"}) {
    EXPECT_TRUE(roots.Check(path).ok()) << path;
    for (const absl::Status& status : OpenInAllWays(path, roots)) EXPECT_TRUE(status.ok()) << status;
  }
  for (const fs::path& path : {outside, data / "leaves", data / "deep/leaves/out.txt",
                               data / ("../" + other.path().filename().string() + "/out.txt"),
                               fs::path("/proc/self/environ"), fs::path(data.path().string() + "x")}) {
    EXPECT_THAT(MessageOf(roots.Check(path)),
                AllOf(HasSubstr(path.string() + " is not in a folder that this worker reads data from"),
                      HasSubstr(data.path().string()), HasSubstr("data_roots")));
  }
  for (const fs::path& path : {outside, data / "leaves", data / "deep/leaves/out.txt"}) {
    for (const absl::Status& status : OpenInAllWays(path, roots)) {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, MessageOf(roots.Check(path))));
    }
  }
}

// The refusal does not depend on the existence of the path.
TEST(RegularFileTest, OutsideTheRootsAMissingFileIsRefusedAsAnExistingOne) {
  TemporaryFolder data, other;
  const DataRoots roots = DataRoots::Below({data.path()});
  const std::string there = MessageOf(roots.Check(other.Write("a", ""))),
                    missing = MessageOf(roots.Check(other / "b"));
  EXPECT_EQ(there.substr(there.find(" is not in")), missing.substr(missing.find(" is not in")));
  EXPECT_TRUE(roots.Check(data / "not/there").ok());
  EXPECT_FALSE(DataRoots::Below({}).Check(data.path()).ok());
  EXPECT_TRUE(DataRoots().Check("/etc/passwd").ok()) << "no limit";
}

// A root may be a link, or not be there yet.
TEST(RegularFileTest, RootsAreResolved) {
  TemporaryFolder data, links;
  data.Write("f", "x");
  fs::create_directory_symlink(data.path(), links / "root");
  EXPECT_TRUE(RegularFile::Open(data / "f", DataRoots::Below({links / "root"})).ok());
  EXPECT_TRUE(RegularFile::Open(links / "root/f", DataRoots::Below({data.path().string() + "/"})).ok());
  EXPECT_TRUE(DataRoots::Below({data / "later"}).Check(data / "later/f").ok());
}

}  // namespace
}  // namespace inlier
