#include "base/data/data_dir.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace inlier {
namespace {

namespace fs = std::filesystem;

class DataDirTest : public testing::Test {
 protected:
  DataDirTest() {
    std::string name = (fs::temp_directory_path() / "inlier-data-dir-XXXXXX").string();
    prefix_ = ::mkdtemp(name.data());
    fs::create_directories(prefix_ / "bin");
    fs::create_directories(prefix_ / "share/inlier");
  }
  ~DataDirTest() override { fs::remove_all(prefix_); }

  fs::path prefix_;
};

TEST_F(DataDirTest, AnInstalledProgramTakesTheFolderOfItsPrefix) {
  const fs::path program = prefix_ / "bin/inlier";
  const fs::path of_build = DefaultDataDir(program);
  EXPECT_NE(of_build, prefix_ / "share/inlier/corpora");
  EXPECT_TRUE(of_build.is_absolute());

  // The link that a package has is enough: an error then names the place where the texts belong.
  fs::create_symlink(prefix_ / "absent", prefix_ / "share/inlier/corpora");
  EXPECT_EQ(DefaultDataDir(program), prefix_ / "share/inlier/corpora");
}

TEST_F(DataDirTest, ANamedFolderIsTakenAsItIs) {
  EXPECT_EQ(DataDirOr("/data/texts"), "/data/texts");
  EXPECT_EQ(DataDirOr("texts"), (fs::current_path() / "texts").string());
  EXPECT_EQ(DataDirOr(""), DefaultDataDir(fs::read_symlink("/proc/self/exe")).string());
}

}  // namespace
}  // namespace inlier
