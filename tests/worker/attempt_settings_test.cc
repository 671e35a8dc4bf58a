#include "worker/attempt_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;

TEST(AttemptSettingsTest, TheFileOfRootsIsReadAnew) {
  TemporaryFolder folder;
  AttemptSettings settings;
  settings.data_roots = {"/data"};
  const auto roots = [&settings] {
    v1::AttemptSpec spec;
    spec.add_data_roots("/before");
    settings.SetDataRoots(spec);
    return std::vector<std::string>(spec.data_roots().begin(), spec.data_roots().end());
  };
  EXPECT_THAT(roots(), ElementsAre("/data"));
  settings.data_roots_file = folder / "roots";
  EXPECT_THAT(roots(), ElementsAre("/data"));
  folder.Write("roots", "/home/u/a b.csv\n\nrelative\n/home/u/texts");
  EXPECT_THAT(roots(), ElementsAre("/data", "/home/u/a b.csv", "/home/u/texts"));
  folder.Write("roots", "");
  EXPECT_THAT(roots(), ElementsAre("/data"));
}

}  // namespace
}  // namespace inlier
