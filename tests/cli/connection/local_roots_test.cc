#include "cli/connection/local_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "google/protobuf/text_format.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;

TEST(LocalRootsTest, ArePathsOfBaseAndAxesThatCanBeReadWithTheEndsOfLinks) {
  TemporaryFolder folder, elsewhere;
  const std::string dir = std::filesystem::canonical(folder.path()).string();
  const std::string blob = std::filesystem::canonical(elsewhere.Write("blob", "weights")).string();
  folder.Write("a.txt", "text");
  folder.Write("b.txt", "text");
  std::filesystem::create_directory(folder / "model");
  std::filesystem::create_symlink(blob, folder / "model/model.safetensors");
  std::filesystem::create_symlink(folder / "a.txt", folder / "link.txt");
  v1::SweepSpec sweep;
  v1::TrialSpec& base = *sweep.mutable_base();
  base.mutable_data()->mutable_text()->set_path(dir + "/link.txt");
  base.mutable_training()->mutable_start_from()->set_hugging_face(dir + "/model");
  v1::Axis& axis = *sweep.add_axes();
  axis.set_field("data.text.path");
  for (const std::string& path :
       {dir + "/b.txt", dir + "/none.txt", std::string("/"), std::string("relative")})
    axis.add_values()->set_string_value(path);
  const std::vector<std::string> paths = ReadablePathsOf(sweep);
  EXPECT_THAT(paths, testing::UnorderedElementsAre(dir + "/a.txt", dir + "/b.txt", dir + "/model", blob));
}

TEST(LocalRootsTest, AreAddedOnce) {
  TemporaryFolder folder;
  ASSERT_TRUE(AddLocalRoots(folder.path(), {}).ok());
  EXPECT_FALSE(std::filesystem::exists(LocalRootsFile(folder.path())));
  ASSERT_TRUE(AddLocalRoots(folder.path(), {"/a", "/b"}).ok());
  ASSERT_TRUE(AddLocalRoots(folder.path(), {"/b", "/c"}).ok());
  EXPECT_EQ(ReadFile(LocalRootsFile(folder.path())).value(), "/a\n/b\n/c\n");
}

}  // namespace
}  // namespace inlier
