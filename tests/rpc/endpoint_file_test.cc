#include "rpc/endpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files/file_lock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

v1::Endpoint Mine() {
  v1::Endpoint endpoint;
  endpoint.set_grpc("127.0.0.1:1234");
  endpoint.set_http("127.0.0.1:1235");
  endpoint.set_version("0.1.0");
  endpoint.set_pid(::getpid());
  return endpoint;
}

TEST(EndpointFileTest, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteEndpointFile(folder.path(), Mine()).ok());
  EXPECT_EQ(ReadEndpointFile(folder.path()).value().SerializeAsString(), Mine().SerializeAsString());
  // Only the file itself is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST(EndpointFileTest, NoCoordinatorIsToldWithTheRemedy) {
  const TemporaryFolder folder;
  const absl::Status status = ReadEndpointFile(folder.path()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                               HasSubstr("no coordinator is running in " + folder.path().string())));
  EXPECT_THAT(std::string(status.message()), HasSubstr("start one with `inlier up`"));
}

TEST(EndpointFileTest, ADamagedFileIsTold) {
  const TemporaryFolder folder;
  for (const char* content : {"", "{", "{}", "[1]"}) {
    std::ofstream(EndpointFilePath(folder.path())) << content;
    EXPECT_EQ(ReadEndpointFile(folder.path()).status().code(), absl::StatusCode::kDataLoss) << content;
  }
}

TEST(EndpointFileTest, AFileIsRemovedOnce) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteEndpointFile(folder.path(), Mine()).ok());
  ASSERT_TRUE(RemoveEndpointFile(folder.path()).ok());
  EXPECT_FALSE(std::filesystem::exists(EndpointFilePath(folder.path())));
  EXPECT_TRUE(RemoveEndpointFile(folder.path()).ok());
}

// Which coordinator is a folder's: the one that holds its lock, even where the endpoint file names another.
class CoordinatorOfTest : public testing::Test {
 protected:
  FolderCoordinator::State State() const { return CoordinatorOf(folder_.path()).value().state; }
  void WriteEndpoint(const std::string& grpc = "127.0.0.1:1234", std::uint64_t more = 0) {
    v1::Endpoint endpoint = Mine();
    endpoint.set_grpc(grpc);
    endpoint.set_lock_inode(InodeOf(StateLockPath(folder_.path())) + more);
    ASSERT_TRUE(WriteEndpointFile(folder_.path(), endpoint).ok());
  }

  const TemporaryFolder folder_;
};

TEST_F(CoordinatorOfTest, AFolderWithoutALockHasNone) {
  EXPECT_EQ(State(), FolderCoordinator::kNone);
  EXPECT_FALSE(std::filesystem::exists(StateLockPath(folder_.path())));
  ASSERT_TRUE(WriteEndpointFile(folder_.path(), Mine()).ok());  // Its process exists: this one.
  EXPECT_EQ(State(), FolderCoordinator::kNone);
}

TEST_F(CoordinatorOfTest, ALockThatIsHeldAndAnEndpointAreOne) {
  const auto lock = LockStateFolder(folder_.path()).value();
  EXPECT_EQ(State(), FolderCoordinator::kStarting);
  WriteEndpoint();
  EXPECT_EQ(State(), FolderCoordinator::kRunning);
  EXPECT_EQ(CoordinatorOf(folder_.path())->endpoint.grpc(), "127.0.0.1:1234");
  // One of an earlier version names no lock.
  ASSERT_TRUE(WriteEndpointFile(folder_.path(), Mine()).ok());
  EXPECT_EQ(State(), FolderCoordinator::kRunning);
}

TEST_F(CoordinatorOfTest, AnEndpointOfAnotherFolderIsNotTaken) {
  {
    const auto lock = LockStateFolder(folder_.path());
    WriteEndpoint("127.0.0.1:1234", 1);
    EXPECT_EQ(State(), FolderCoordinator::kStarting);
  }
  EXPECT_EQ(State(), FolderCoordinator::kNone);
  WriteEndpoint("192.0.2.1:1234", 1);
  EXPECT_EQ(State(), FolderCoordinator::kNone);
}

TEST_F(CoordinatorOfTest, OneOnAnotherMachineMayRunWhereItsLockIsNotSeen) {
  ASSERT_TRUE(LockStateFolder(folder_.path()).ok());
  WriteEndpoint("192.0.2.1:1234");
  EXPECT_EQ(State(), FolderCoordinator::kPerhaps);
  EXPECT_EQ(CoordinatorOf(folder_.path())->endpoint.grpc(), "192.0.2.1:1234");
}

TEST_F(CoordinatorOfTest, ADamagedEndpointCountsWhereACoordinatorRuns) {
  std::ofstream(EndpointFilePath(folder_.path())) << "{";
  EXPECT_EQ(State(), FolderCoordinator::kNone);
  const auto lock = LockStateFolder(folder_.path());
  EXPECT_EQ(CoordinatorOf(folder_.path()).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CoordinatorOfTest, AMovedFolderKeepsItsCoordinator) {
  const auto lock = LockStateFolder(folder_.path());
  WriteEndpoint();
  const std::filesystem::path moved = folder_.path().string() + "-moved";
  std::filesystem::rename(folder_.path(), moved);
  const auto found = CoordinatorOf(moved);
  std::filesystem::rename(moved, folder_.path());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->state, FolderCoordinator::kRunning);
}

// Commands look at the lock while a coordinator starts.
TEST_F(CoordinatorOfTest, LookingAtTheLockKeepsNoCoordinatorFromStarting) {
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over) FileLock::Probe(StateLockPath(folder_.path()));
  });
  int refused = 0;
  for (int i = 0; i < 200; ++i) refused += LockStateFolder(folder_.path()).ok() ? 0 : 1;
  over = true;
  looks.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace inlier
