#include "cli/convert/program_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using testing::ElementsAre;

TEST(ProgramNamesTest, SweepsAndProgramsGetFileNames) {
  EXPECT_EQ(SweepNameOf("compare lrs (2)"), "compare-lrs-2");
  EXPECT_EQ(SweepNameOf("../x"), "x");
  EXPECT_EQ(SweepNameOf("s-12"), "sweep-s-12");
  EXPECT_EQ(SweepNameOf("größe"), "gr-e");
  EXPECT_EQ(SweepNameOf("***"), "");
  EXPECT_EQ(SweepNameOf(std::string(300, 'a')).size(), 90u);
  EXPECT_EQ(ProgramNameOf("./src/my-train.v2.py"), "my-train_v2");
  EXPECT_EQ(ProgramNameOf("01_fit.py"), "fit");
  EXPECT_EQ(ProgramNameOf("1.py"), "");
}

TEST(ProgramNamesTest, WordsBeginWithALetter) {
  EXPECT_EQ(WordOf("val/acc best"), "val_acc_best");
  EXPECT_EQ(WordOf("_x"), "p_x");
  EXPECT_EQ(WordOf("1x"), "p_1x");
  EXPECT_EQ(WordOf("%"), "p");
  EXPECT_EQ(WordOf(std::string(300, 'a')).size(), 60u);
}

TEST(ProgramNamesTest, ParametersHaveDifferentNamesAndAreNoGroups) {
  EXPECT_THAT(ParameterNames({"lr", "model", "model.net.lr", "model.net", "a-b", "a_b", "a b"}),
              ElementsAre("lr", "model_name", "model.net.lr", "model.net_name", "a_b", "a_b_2", "a_b_3"));
  EXPECT_THAT(ParameterNames({"x_name", "x", "x.y"}), ElementsAre("x_name", "x_name_2", "x.y"));
}

}  // namespace
}  // namespace inlier
