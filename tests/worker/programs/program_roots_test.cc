#include "worker/programs/program_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
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
  static std::string Problem(const v1::ProgramRoot& root, const std::string& token_file = "") {
    return std::string(CheckProgramRoot(root, token_file).message());
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
  const fs::path token = folder_ / "token";
  std::ofstream(token) << "secret\n";
  fs::permissions(token, fs::perms::owner_read | fs::perms::others_read);
  EXPECT_THAT(Problem(root, token.string()), HasSubstr("nobody can read token_file"));
  fs::permissions(token, fs::perms::owner_read);
  EXPECT_EQ(Problem(root, token.string()), "");
}

}  // namespace
}  // namespace inlier
