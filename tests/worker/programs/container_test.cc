#include "worker/programs/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kPinned = "ghcr.io/ann/net@sha256:" + std::string(64, 'a'),
                  kId = "sha256:" + std::string(64, 'b');

class ContainerTest : public testing::Test {
 protected:
  ContainerTest() { ::setenv("PATH", (folder_ / "bin").c_str(), 1); }
  fs::path Program(const std::string& name) {
    fs::create_directories(folder_ / "bin");
    const fs::path path = folder_ / "bin" / name;
    std::ofstream(path) << "#!/bin/sh\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // The words that run `image`; with the problem in place of them.
  std::vector<std::string> Words(const std::string& image, const std::vector<std::string>& container,
                                 const v1::AttemptSpec& more = {}) {
    v1::AttemptSpec spec = more;
    spec.set_stage_id("st-7");
    spec.set_token(12);
    spec.set_output_dir(folder_.path().string());
    spec.mutable_container()->Assign(container.begin(), container.end());
    ProgramCommand command{
        .words = {"python3", "train.py"}, .variables = {"INLIER_TRIAL=/x"}, .folder = "/srv/p", .user = ""};
    const absl::Status put = PutIntoContainer(spec, image, folder_.path(), command);
    return put.ok() ? command.words : std::vector<std::string>{std::string(put.message())};
  }

  TemporaryFolder folder_;
};

TEST_F(ContainerTest, TheFirstRuntimeThatIsThereIsFoundAndTheOwnerMayNameOneOrNone) {
  EXPECT_EQ(FindContainerRuntime(std::nullopt).value(), "");
  const fs::path apptainer = Program("apptainer"), docker = Program("docker");
  EXPECT_EQ(FindContainerRuntime(std::nullopt).value(), docker.string());
  EXPECT_EQ(FindContainerRuntime("apptainer").value(), apptainer.string());
  EXPECT_EQ(FindContainerRuntime(docker.string()).value(), docker.string());
  EXPECT_EQ(FindContainerRuntime("").value(), "");
  EXPECT_EQ(FindContainerRuntime("podman").status().message(),
            "container_runtime: there is no program podman in PATH; install it, or leave the setting out");
  EXPECT_THAT(std::string(FindContainerRuntime("runc").status().message()),
              HasSubstr("container_runtime: runc is not podman, docker, apptainer or a path that ends so"));
}

TEST_F(ContainerTest, PodmanAndDockerGetThePathsAndVariablesOfTheMachineWithoutItsOwn) {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  const std::string attempt = folder_.path().string();
  std::vector<std::string> words = Words(kPinned, {"/usr/bin/podman"});
  EXPECT_EQ(words[0], "/usr/bin/podman");
  EXPECT_EQ(words[1], "run");
  for (const std::string& word :
       {std::string("--rm"), std::string("--network=host"), std::string("--volume=/srv/p:/srv/p:ro"),
        "--volume=" + attempt + ":" + attempt, std::string("--env=OMP_NUM_THREADS"),
        std::string("--env=INLIER_TRIAL"), std::string("--env=HOME=/tmp"),
        std::string("--name=inlier-st-7-12-0")})
    EXPECT_THAT(words, Contains(word));
  EXPECT_THAT(words, Not(Contains("--env=PATH")));
  EXPECT_EQ(::geteuid() != 0, std::ranges::find(words, "--userns=keep-id") != words.end());
  const auto image = std::ranges::find(words, kPinned);
  ASSERT_EQ(words.end() - image, 8);
  EXPECT_EQ(*(image - 1), "--entrypoint=sh");
  EXPECT_EQ(*(image + 1), "-c");
  EXPECT_THAT(std::vector<std::string>(image + 3, words.end()),
              ElementsAre("sh", attempt + "/events", attempt + "/replies", "python3", "train.py"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "events") && fs::is_fifo(folder_ / "replies"));
  // The owner's options come before the image, and decide the network.
  v1::AttemptSpec gpu;
  gpu.set_device("cuda");
  words = Words(kId, {"/opt/docker", "--network=none", "-v=/data:/data"}, gpu);
  EXPECT_THAT(words,
              AllOf(Contains("-v=/data:/data"), Contains("--gpus=all"), Not(Contains("--network=host"))));
}

TEST_F(ContainerTest, ApptainerRunsAFileOrAnImageOfARegistry) {
  std::vector<std::string> words = Words("net.sif", {"/bin/apptainer", "--net"});
  words.resize(11);
  EXPECT_THAT(words, ElementsAre("/bin/apptainer", "exec", "--pwd", "/srv/p", "--bind", "/srv/p:/srv/p:ro",
                                 "--bind", folder_.path().string(), "--net", "/srv/p/net.sif", "sh"));
  EXPECT_THAT(Words(kPinned, {"apptainer"}), Contains("docker://" + kPinned));
}

TEST_F(ContainerTest, WhatCannotRunIsNamedWithTheRemedy) {
  const std::string where = "environment.image: net.sif cannot run here: ";
  EXPECT_THAT(Words("net.sif", {}),
              ElementsAre(where + "no container_runtime is installed or allowed; install podman, "
                                  "docker or apptainer, or name it in the worker's configuration"));
  EXPECT_THAT(
      Words("net.sif", {"/x/docker"}),
      ElementsAre(where + "docker runs no .sif file; give NAME@sha256:DIGEST, which each of them runs"));
  EXPECT_THAT(Words(kId, {"apptainer"})[0], HasSubstr("apptainer runs no image by its id"));
}

}  // namespace
}  // namespace inlier
