#include "cli/command_line.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineTest() : app_("inlier", "inlier") {
    app_.require_subcommand(1);
    app_.fallthrough();
    app_.add_option("--dir", dir_, "State folder");
    app_.add_flag("--json", json_, "JSON");
    CLI::App* status = app_.add_subcommand("status", "List");
    status->add_option("sweep", sweep_, "Sweep");
    status->add_flag("--failed", failed_, "Failed ones");
    CLI::App* run = app_.add_subcommand("run", "Run");
    run->add_option("file", sweep_, "File")->required();
    AddGlobalOptionsToHelp(app_);
  }

  // The message for arguments that are refused.
  std::string Refusal(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return DescribeParseError(app_, error);
    }
    return "";
  }

  CLI::App app_;
  std::string dir_, sweep_;
  bool json_ = false, failed_ = false;
};

TEST_F(CommandLineTest, AWordThatIsNoVerbIsNamedWithTheNearestAndAllVerbs) {
  EXPECT_EQ(FaultOfArguments(app_, {"--dir", "statu", "--json", "statu", "s-1"}),
            "there is no command 'statu'; did you mean \"status\"?\nCommands: status, run\n"
            "Help: inlier help, inlier help COMMAND");
  EXPECT_EQ(FaultOfArguments(app_, {"--dir", "x", "status"}), "");
  EXPECT_EQ(FaultOfArguments(app_, {"--dir=x", "status"}), "");
  EXPECT_EQ(FaultOfArguments(app_, {"--json"}), "");
  EXPECT_THAT(Refusal({}), StartsWith("which command?\nCommands: status, run"));
}

// `inlier status --dir "$UNSET"` must not act on the default folder.
TEST_F(CommandLineTest, AnEmptyArgumentIsRefusedWithItsPlace) {
  EXPECT_THAT(FaultOfArguments(app_, {"status", "--dir", ""}),
              StartsWith("the argument after --dir is empty: "));
  EXPECT_THAT(FaultOfArguments(app_, {"", "status"}), StartsWith("the first argument is empty: "));
  EXPECT_THAT(FaultOfArguments(app_, {"__complete", "sweeps", ""}), StartsWith("there is no command"))
      << "of a shell";
}

TEST_F(CommandLineTest, HelpIsAVerb) {
  EXPECT_THAT(WithoutHelpVerb(app_, {"help"}), ElementsAre("--help"));
  EXPECT_THAT(WithoutHelpVerb(app_, {"--dir", "help", "help", "run"}),
              ElementsAre("--dir", "help", "run", "--help"));
  EXPECT_THAT(WithoutHelpVerb(app_, {"status", "help"}), ElementsAre("status", "help"));
}

TEST_F(CommandLineTest, ATagWithAMinusIsTakenOff) {
  EXPECT_THAT(WithTagsOff(app_, {"tag", "smoke", "+a", "-b", "--json", "-q"}),
              ElementsAre("tag", "smoke", "+a", "--off=b", "--json", "-q"));
  EXPECT_THAT(WithTagsOff(app_, {"status", "-b"}), ElementsAre("status", "-b"));
}

TEST_F(CommandLineTest, TheHelpOfAVerbNamesTheGlobalOptions) {
  EXPECT_THAT(app_.get_subcommand("run")->help(),
              EndsWith("Options of every command (inlier --help):\n  --dir, --json\n"));
}

TEST_F(CommandLineTest, LeftoversAreInTheOrderGivenAndOptionsHaveTheNearest) {
  EXPECT_EQ(Refusal({"status", "s-1", "x.tex", "-o"}),
            "status: unexpected arguments: x.tex -o\nHelp: inlier status --help");
  EXPECT_EQ(Refusal({"status", "--faild"}),
            "status: unexpected argument: --faild; did you mean \"--failed\"?\nHelp: inlier status --help");
  EXPECT_THAT(Refusal({"status", "--jsn=1"}), HasSubstr("did you mean \"--json\"?"));
  EXPECT_EQ(Refusal({"run"}), "run: file is required\nHelp: inlier run --help");
}

}  // namespace
}  // namespace inlier
