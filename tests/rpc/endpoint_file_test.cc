#include "rpc/endpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

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
  const auto endpoint = ReadEndpointFile(folder.path());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status();
  EXPECT_EQ(endpoint->SerializeAsString(), Mine().SerializeAsString());
  EXPECT_TRUE(EndpointIsAlive(*endpoint));
  // Only the file itself is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST(EndpointFileTest, NoCoordinatorIsToldWithTheRemedy) {
  const TemporaryFolder folder;
  const absl::Status status = ReadEndpointFile(folder.path()).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no coordinator is running in " + folder.path().string()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("start one with `inlier up`"));
}

TEST(EndpointFileTest, ADamagedFileIsTold) {
  const TemporaryFolder folder;
  for (const char* content : {"", "{", "{}", "[1]"}) {
    std::ofstream(EndpointFilePath(folder.path())) << content;
    EXPECT_EQ(ReadEndpointFile(folder.path()).status().code(), absl::StatusCode::kDataLoss) << content;
  }
}

TEST(EndpointFileTest, OnlyItsOwnersFileIsRemoved) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteEndpointFile(folder.path(), Mine()).ok());
  ASSERT_TRUE(RemoveEndpointFile(folder.path(), ::getpid() + 1).ok());
  EXPECT_TRUE(ReadEndpointFile(folder.path()).ok());
  ASSERT_TRUE(RemoveEndpointFile(folder.path(), ::getpid()).ok());
  EXPECT_FALSE(std::filesystem::exists(EndpointFilePath(folder.path())));
  EXPECT_TRUE(RemoveEndpointFile(folder.path(), ::getpid()).ok());
}

TEST(EndpointFileTest, ADeadProcessIsNotAlive) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  v1::Endpoint endpoint = Mine();
  endpoint.set_pid(child);
  EXPECT_FALSE(EndpointIsAlive(endpoint));
  endpoint.clear_pid();
  EXPECT_FALSE(EndpointIsAlive(endpoint));
}

}  // namespace
}  // namespace inlier
