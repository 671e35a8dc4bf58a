#include "worker/programs/program_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "spec/program/find_program.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ProgramRootsTest : public testing::Test {
 protected:
  fs::path Program(const std::string& folder, const std::string& name) {
    const fs::path path = folder_ / folder;
    fs::create_directories(path);
    std::ofstream(path / "inlier-program.yaml") << "name: " << name << "\ncommand: [x]\n";
    return path;
  }
  static v1::ProgramRoot RootOf(const fs::path& path) {
    v1::ProgramRoot root;
    root.set_root(path.string());
    return root;
  }
  static std::string Problem(const v1::ProgramRoot& root, const v1::WorkerConfig& config = {}) {
    return std::string(CheckProgramRoot(root, config).message());
  }
  static mode_t Mode(const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }

  static absl::StatusOr<v1::ProgramRoot> Find(const AttemptSettings& settings, const std::string& name,
                                              const std::string& digest = "") {
    v1::ProgramTrial wanted;
    wanted.set_name(name);
    wanted.set_digest(digest);
    return FindProgramRoot(settings, wanted);
  }

  TemporaryFolder folder_;
};

TEST_F(ProgramRootsTest, OnlyWhatTheOwnerNamedIsFound) {
  AttemptSettings settings;
  settings.programs = {RootOf(Program("a", "one"))};
  settings.programs.back().set_name("first");
  settings.programs.push_back(RootOf(Program("b", "two")));
  Program("team/c", "three");
  Program("team/deep/er/d", "four");
  Program("e", "five");
  settings.program_roots = {(folder_ / "team").string()};
  EXPECT_EQ(Find(settings, "first")->root(), (folder_ / "a").string());
  EXPECT_EQ(Find(settings, "two")->root(), (folder_ / "b").string());
  EXPECT_EQ(Find(settings, "three")->root(), (folder_ / "team/c").string());
  for (const char* name : {"one", "four", "five", "../e", "", "e"}) {
    EXPECT_THAT(std::string(Find(settings, name).status().message()),
                HasSubstr(std::string("this worker may not run the program ") + name + "; its owner names"));
  }
  // With the folder of "first", whose entry may have a user.
  settings.program_roots = {folder_.path().string()};
  EXPECT_FALSE(Find(settings, "one").ok());
  EXPECT_TRUE(Find(settings, "five").ok());
}

TEST_F(ProgramRootsTest, OfSeveralOfOneNameTheWantedSourceIsFound) {
  AttemptSettings settings;
  settings.program_roots = {folder_.path().string()};
  for (const char* folder : {"a", "b"}) std::ofstream(Program(folder, "one") / "train.py") << folder;
  for (const char* folder : {"a", "b"}) {
    const std::string digest = UseOfProgram(folder_ / folder)->digest();
    EXPECT_EQ(Find(settings, "one", digest)->root(), (folder_ / folder).string());
  }
  EXPECT_TRUE(Find(settings, "one", std::string(64, '0')).ok()) << "it says which source is there";
}

TEST_F(ProgramRootsTest, ARootIsCheckedBeforeTheWorkerTakesWork) {
  EXPECT_EQ(Problem(RootOf(Program("a", "one"))), "");
  EXPECT_THAT(Problem(v1::ProgramRoot()), HasSubstr("programs.root: is missing"));
  EXPECT_THAT(Problem(RootOf(folder_ / "none")), HasSubstr("programs.root: there is no folder"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(Problem(RootOf(folder_ / "empty")), HasSubstr("there is no such file"));
  v1::ProgramRoot root = RootOf(folder_ / "a");
  root.set_user("no-such-user-here");
  EXPECT_THAT(Problem(root), HasSubstr("programs.user: there is no user no-such-user-here"));
  root.set_user("nobody");
  if (::geteuid() != 0) {
    EXPECT_THAT(Problem(root), HasSubstr("only a worker that runs as root can run a program as nobody"));
    return;
  }
  const fs::path secret = folder_ / "secret";
  std::ofstream(secret) << "secret\n";
  v1::WorkerConfig token, key, bucket;
  token.set_token_file(secret.string());
  key.set_tls_key(secret.string());
  bucket.mutable_s3()->set_credentials_file(secret.string());
  fs::permissions(secret, fs::perms::owner_read | fs::perms::others_read);
  for (const v1::WorkerConfig& config : {token, key, bucket})
    EXPECT_EQ(Problem(root, config), "");  // The folder above it is closed.
  fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
  EXPECT_THAT(Problem(root, token), HasSubstr("nobody can read token_file"));
  EXPECT_THAT(Problem(root, key), HasSubstr("nobody can read tls_key"));
  EXPECT_THAT(Problem(root, bucket), HasSubstr("nobody can read s3.credentials_file"));
  fs::permissions(secret, fs::perms::owner_read);
  EXPECT_EQ(Problem(root, token), "");
}

TEST_F(ProgramRootsTest, WhereAProgramRunsAsAnotherUserTheStateIsClosedToIt) {
  v1::WorkerConfig config;
  config.set_state_dir((folder_ / "state").string());
  const fs::path state = config.state_dir(), attempts = state / "attempts";
  for (const char* name : {"attempts/st-1/1", "artifacts", "outbox"}) fs::create_directories(state / name);
  const fs::path one = attempts / "st-1/1";
  EXPECT_EQ(CloseState(config), absl::OkStatus());
  AttemptSettings settings;
  v1::AttemptSpec of_program, of_ours;
  of_program.mutable_spec()->mutable_program()->set_name("one");
  of_program.set_program_root((folder_ / "a").string());
  EXPECT_EQ(MakeClosedFolder(settings, of_program, one), absl::OkStatus());
  EXPECT_EQ(Mode(one) & 0005, 0005u) << "no program has a user";
  if (::geteuid() != 0) return;
  *config.add_programs() = RootOf(Program("a", "one"));
  config.mutable_programs(0)->set_user("nobody");
  EXPECT_THAT(std::string(CloseState(config).message()), HasSubstr("nobody cannot enter state_dir"));
  fs::permissions(folder_.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(state, fs::perms::others_exec, fs::perm_options::add);
  EXPECT_EQ(CloseState(config), absl::OkStatus());
  for (const char* name : {"attempts/st-1", "artifacts", "outbox"}) EXPECT_EQ(Mode(state / name), 0700u);
  EXPECT_EQ(Mode(attempts), 0711u);
  settings.programs.assign(config.programs().begin(), config.programs().end());
  EXPECT_EQ(MakeClosedFolder(settings, of_program, one), absl::OkStatus());
  EXPECT_EQ(Mode(one), 0750u);
  EXPECT_EQ(MakeClosedFolder(settings, of_ours, one), absl::OkStatus());
  EXPECT_EQ(Mode(one), 0700u);
}

}  // namespace
}  // namespace inlier
