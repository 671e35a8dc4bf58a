#include "spec/program/program_source.h"

#include <cstdlib>

#include "base/environment.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/program/program_description.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/spec/program/program_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kSmall[] = "name: p\ncommand: [./run]\nfiles: ['*.py', data/*]\n";

class ProgramSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "git is not installed";
    folder_.Write("data/words", "a\n");
  }
  // Runs it in the program's folder.
  void Shell(const std::string& script) const {
    EXPECT_EQ(std::system(("cd " + folder_.path().string() + " && " + script).c_str()), 0) << script;
  }
  // Commits everything that is there.
  void Commit() const {
    Shell("git init -q . && git add -A . && git -c user.name=a -c user.email=a@b commit -q -m x --no-verify");
  }
  std::optional<v1::ProgramSource> Source() const { return SourceIn(folder_.path()); }
  static std::optional<v1::ProgramSource> SourceIn(const fs::path& folder) {
    return SourceOfProgram(folder, ReadProgram(folder).value());
  }

  const ProgramFolder folder_{kSmall};
};

TEST_F(ProgramSourceTest, WithoutARepositoryOrACommitThereIsNone) {
  EXPECT_FALSE(Source());
  Shell("git init -q .");
  EXPECT_FALSE(Source());
  Shell("git -c user.name=a -c user.email=a@b commit -q -m x --allow-empty");
  EXPECT_TRUE(Source());
  const std::string path = EnvironmentVariableOr("PATH", "");
  ::setenv("PATH", "/nowhere", 1);
  EXPECT_FALSE(Source());
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(ProgramSourceTest, FilesAsTheyWereCommittedDifferInNothing) {
  Commit();
  const v1::ProgramSource source = Source().value();
  EXPECT_EQ(source.commit().size(), 40u);
  EXPECT_EQ(source.diff(), "");
}

TEST_F(ProgramSourceTest, TheDiffIsThatOfTheProgramsFiles) {
  folder_.Write("gone.py", "gone\n");
  folder_.Write("notes.txt", "no part of it\n");
  folder_.Write(".gitignore", "ignored.py\n");
  Commit();
  folder_.Write("train.py", "print('other')\n");
  fs::remove(folder_.path() / "gone.py");
  folder_.Write("ignored.py", "new\n");
  folder_.Write("data/picture", std::string("\0\1", 2));
  folder_.Write("notes.txt", "changed\n");
  folder_.Write("new.txt", "no part of it\n");
  EXPECT_THAT(
      Source()->diff(),
      AllOf(StartsWith("diff --git a/data/picture b/data/picture\nnew file mode 100644\n"),
            HasSubstr("Binary files /dev/null and b/data/picture differ\n"),
            HasSubstr("--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"),
            HasSubstr("--- /dev/null\n+++ b/ignored.py\n@@ -0,0 +1 @@\n+new\n"),
            HasSubstr("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-print('train')\n+print('other')\n"),
            Not(HasSubstr(".txt"))));
}

TEST_F(ProgramSourceTest, APartOfARepositoryIsNamedFromItsOwnFolder) {
  for (const char* name : {"inlier-program.yaml", "train.py", "data/x"})
    folder_.Write(std::string("a b/") + name, kSmall);
  Commit();
  folder_.Write("a b/train.py", "1\n");
  folder_.Write("train.py", "2\n");
  const std::string diff = SourceIn(folder_.path() / "a b")->diff();
  EXPECT_THAT(diff, AllOf(StartsWith("diff --git a/train.py b/train.py\n"), HasSubstr("+1\n"),
                          Not(HasSubstr("+2\n"))));
  // A folder that no commit has.
  fs::rename(folder_.path() / "a b", folder_.path() / "c");
  EXPECT_THAT(SourceIn(folder_.path() / "c")->diff(), HasSubstr("+++ b/inlier-program.yaml\n"));
}

TEST_F(ProgramSourceTest, WhatIsTooLargeIsSaid) {
  Commit();
  folder_.Write("data/words", std::string(2 << 20, 'x') + "\n");
  EXPECT_EQ(Source()->diff(), "# larger than 1 MiB: data/words\n");
  std::string lines;
  while (lines.size() < 400 << 10) lines += "\xff \u00e9 and more\n";
  folder_.Write("data/words", lines);
  const std::string diff = Source()->diff();
  EXPECT_THAT(diff, StartsWith("# the first 256 KiB of "));
  EXPECT_THAT(diff, HasSubstr("+\ufffd \u00e9 and more\n"));
  EXPECT_LT(diff.size(), (256 << 10) + 100);
}

TEST_F(ProgramSourceTest, NothingIsWrittenToTheRepositoryAndNoCodeOfItRuns) {
  folder_.Write(".gitattributes", "*.py filter=own diff=own\n");
  Commit();
  const std::string mark = "touch " + (folder_.path() / "ran").string();
  for (const char* name : {"filter.own.clean", "filter.own.smudge", "filter.own.process", "diff.own.command",
                           "diff.own.textconv", "diff.external", "core.fsmonitor", "core.pager"})
    Shell(std::string("git config ") + name + " '" + mark + "'");
  folder_.Write(".git/hooks/post-index-change", "#!/bin/sh\n" + mark + "\n");
  Shell("chmod +x .git/hooks/post-index-change");
  folder_.Write("train.py", "2\n");
  const std::string list = "find .git | sort | sha256sum; stat -c %y .git/index";
  Shell("(" + list + ") >before.txt");
  EXPECT_THAT(Source()->diff(), HasSubstr("+2\n"));
  EXPECT_FALSE(fs::exists(folder_.path() / "ran"));
  Shell("(" + list + ") | cmp - before.txt");
  Shell("git status >/dev/null 2>&1; test -e ran");  // They would have run.
}

TEST_F(ProgramSourceTest, AMissingObjectIsSaid) {
  Commit();
  folder_.Write("train.py", "2\n");
  Shell("rm -f .git/objects/$(git rev-parse HEAD:train.py | sed 's,^..,&/,')");
  EXPECT_THAT(Source()->diff(), StartsWith("# not known: git diff-index: it ended with status 128 "));
}

TEST_F(ProgramSourceTest, ASweepThatIsReadHasIt) {
  const std::string sweep = "name: s\nprogram: p\naxes: [{field: seed, values: [1, 2]}]\n";
  const std::string file = (folder_.path() / "s.yaml").string();
  EXPECT_FALSE(ReadSweepText(sweep, file)->program().has_source());
  Commit();
  folder_.Write("data/words", "b\n");
  EXPECT_THAT(ReadSweepText(sweep, file)->program().source().diff(), HasSubstr("+b\n"));
}

}  // namespace
}  // namespace inlier
