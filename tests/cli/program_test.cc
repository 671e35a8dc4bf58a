// The real `inlier` program on a real state folder: output and exit code of the verbs that need no coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/digest.h"
#include "base/version.h"
#include "coordinator/store/database.h"
#include "nlohmann/json.hpp"
#include "rpc/endpoint_file.h"
#include "spec/trial/measurements.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

struct Ran {
  int status = -1;
  std::string text;  // Both streams.
};

class ProgramTest : public testing::Test {
 protected:
  Ran Run(const std::string& arguments) {
    return RunWith("", " --dir '" + folder_.path().string() + "' " + arguments);
  }
  // Without --dir, with these variables besides an empty home.
  Ran RunWith(const std::string& variables, const std::string& arguments) {
    const std::string command = "env -u INLIER_DIR -u INLIER_SERVER XDG_CONFIG_HOME=/nonexistent " +
                                variables + " " + std::string(INLIER_PROGRAM) + " " + arguments +
                                " 2>&1 < /dev/null";
    Ran ran;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      ran.text.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }
  void MakeDatabase() { ASSERT_TRUE(Database::Open(folder_.path()).ok()); }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(ProgramTest, BackupPrintsFileSizeAndTimeAndRefusesToOverwrite) {
  MakeDatabase();
  const Ran made = Run("backup " + Path("copy.db"));
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text,
              MatchesRegex(".*/copy\\.db: [0-9]+ bytes, schema version [0-9]+, checked, in [0-9.]+ s\n"));
  const Ran again = Run("backup " + Path("copy.db"));
  EXPECT_EQ(again.status, 6);
  EXPECT_THAT(again.text, HasSubstr("exists, and no backup is overwritten"));
  const Ran quiet = Run("--quiet backup " + Path("other.db"));
  EXPECT_EQ(quiet.text, Path("other.db") + "\n");
  const Ran json = Run("--json backup " + Path("third.db"));
  const auto parsed = nlohmann::json::parse(json.text, nullptr, false);
  ASSERT_TRUE(parsed.is_object()) << json.text;
  EXPECT_EQ(parsed["file"], Path("third.db"));
  EXPECT_EQ(parsed["bytes"], std::filesystem::file_size(Path("third.db")));
}

TEST_F(ProgramTest, BackupKeepsTheNewest) {
  MakeDatabase();
  const TemporaryFolder backups;
  backups.Write("inlier.db.v1.20240101T000000.000Z.scheduled", "old");
  const std::string verb = "backup --keep 1 " + backups.path().string();
  EXPECT_THAT(Run(verb).text, HasSubstr(" s; 1 older removed\n"));
  EXPECT_EQ(nlohmann::json::parse(Run("--json " + verb).text, nullptr, false)["removed"], 1);
  EXPECT_EQ(Run("backup --keep 0 " + backups.path().string()).status, 2);
  EXPECT_THAT(Run("backup --keep 1 " + Path("file")).text, HasSubstr("is not a folder"));
}

TEST_F(ProgramTest, BackupAndDoctorOfAnotherMachineAreRefusedWithTheRemedy) {
  for (const char* verb : {"backup x", "doctor"}) {
    const Ran ran = Run(std::string("--server 192.0.2.1:7420 ") + verb);
    EXPECT_EQ(ran.status, 6);
    EXPECT_THAT(ran.text, HasSubstr("on the machine of 192.0.2.1:7420, without --server"));
  }
}

TEST_F(ProgramTest, ConvertWritesASweepAndItsProgramAndTellsWhatIsNotSaid) {
  folder_.Write("wandb.yaml",
                "program: fit.py\nmethod: bayes\nrun_cap: 8\nparameters: {lr: {min: 0.1, max: 0.9}}\n");
  const std::string files = "-o " + Path("sweep.yaml") + " --description " + Path("inlier-program.yaml");
  const Ran made = Run("convert " + Path("wandb.yaml") + " " + files);
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_THAT(made.text, AllOf(HasSubstr("inlier: warning: " + Path("wandb.yaml") + ":2:1: method: bayes: "),
                               HasSubstr("written to " + Path("sweep.yaml") + "\n")));
  const Ran checked = Run("check " + Path("sweep.yaml"));
  EXPECT_EQ(checked.status, 0) << checked.text;
  EXPECT_THAT(checked.text, HasSubstr("sweep 'wandb' is valid: 8 trials"));
  const Ran again = Run("convert " + Path("wandb.yaml") + " " + files);
  EXPECT_EQ(again.status, 6);
  EXPECT_THAT(again.text, HasSubstr("sweep.yaml: is there already; --force replaces it"));
  EXPECT_EQ(Run("convert --force " + Path("wandb.yaml") + " " + files).status, 0);
}

TEST_F(ProgramTest, ConvertGivesOneJsonValue) {
  folder_.Write("config.yaml", "hydra: {sweeper: {params: {lr: '0.1,0.2'}}}\nlr: 1\n");
  const Ran made = Run("--json convert --program net " + Path("config.yaml"));
  const auto json = nlohmann::json::parse(made.text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << made.text;
  EXPECT_EQ(json["sweep"]["program"], "net");
  EXPECT_EQ(json["sweep"]["axes"][0]["values"], nlohmann::json({0.1, 0.2}));
  EXPECT_EQ(json["program"]["parameters"]["lr"]["type"], "NUMBER");
  EXPECT_EQ(json["remarks"][1]["line"], 2);
  EXPECT_EQ(json["remarks"][1]["path"], "lr");
}

TEST_F(ProgramTest, SweepsOfOtherToolsAreRefusedWithTheCommandThatConvertsThem) {
  folder_.Write("wandb.yaml", "method: grid\nparameters: {lr: {min: !!float 1e-5, max: 1}}\n");
  for (const char* verb : {"check", "submit", "run"}) {
    const Ran ran = Run(std::string(verb) + " " + Path("wandb.yaml"));
    EXPECT_EQ(ran.status, 3) << verb;
    EXPECT_THAT(ran.text,
                HasSubstr("wandb.yaml: is a sweep of Weights & Biases, not a sweep of inlier; convert it: "
                          "inlier convert " +
                          Path("wandb.yaml") + " -o NEW.yaml"));
  }
  folder_.Write("config.yaml", "hydra: {sweeper: {params: {lr: '0.1,0.2'}}}\n");
  EXPECT_THAT(Run("check " + Path("config.yaml")).text,
              HasSubstr("is a configuration of Hydra, not a sweep of inlier"));
  folder_.Write("neither.yaml", "some: text\n");
  EXPECT_EQ(Run("convert " + Path("neither.yaml")).status, 3);
  EXPECT_EQ(Run("convert " + Path("missing.yaml")).status, 5);
}

TEST_F(ProgramTest, DoctorOfASoundFolderPrintsHealthy) {
  MakeDatabase();
  const Ran ran = Run("doctor");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_THAT(ran.text, AllOf(HasSubstr(": healthy; "), HasSubstr("coordinator not running")));
  const auto json = nlohmann::json::parse(Run("--json doctor").text, nullptr, false);
  EXPECT_EQ(json["healthy"], true);
  EXPECT_EQ(json["version"], Version());
}

TEST_F(ProgramTest, DoctorRemovesTheEndpointOfAKilledCoordinator) {
  MakeDatabase();
  v1::Endpoint endpoint;
  endpoint.set_grpc("127.0.0.1:1");
  endpoint.set_version(Version());
  endpoint.set_pid(0x3fffffff);  // Above the kernel's largest pid.
  ASSERT_TRUE(WriteEndpointFile(folder_.path(), endpoint).ok());
  EXPECT_THAT(Run("doctor").text, AllOf(HasSubstr("endpoint.json names process"), HasSubstr(": healthy; ")));
  const Ran repaired = Run("doctor --repair");
  EXPECT_EQ(repaired.status, 0);
  EXPECT_THAT(repaired.text, HasSubstr("repaired: removed " + Path("endpoint.json")));
  EXPECT_FALSE(std::filesystem::exists(Path("endpoint.json")));
}

TEST_F(ProgramTest, TokenIsPrintedOnceAndItsHashKept) {
  const Ran added = Run("--quiet token add --role submit --name alice");
  EXPECT_EQ(added.status, 0) << added.text;
  ASSERT_THAT(added.text, MatchesRegex("inlier_[0-9a-f]{64}\n"));
  const std::string token = added.text.substr(0, added.text.size() - 1);
  std::ifstream in(Path("tokens"));
  const std::string file(std::istreambuf_iterator<char>(in), {});
  EXPECT_THAT(file, HasSubstr("submit alice " + Sha256Hex(token) + "\n"));
  EXPECT_EQ(file.find(token.substr(7)), std::string::npos);
  EXPECT_THAT(Run("token list").text, HasSubstr("submit  alice"));
  EXPECT_EQ(Run("token remove --name bob").status, 5);
  EXPECT_EQ(Run("token remove --name alice").status, 0);
  EXPECT_EQ(Run("token list").text.find("alice"), std::string::npos);
}

TEST_F(ProgramTest, OneOfTwoTokensOfANameIsRemovedByTheBeginningOfItsHash) {
  const std::string first = Run("--quiet token add --role admin --name alice").text;
  const std::string second = Run("--quiet token add --role submit --name alice").text;
  EXPECT_THAT(Run("token list").text, AllOf(HasSubstr("admin   alice"), HasSubstr("submit  alice")));
  EXPECT_EQ(Run("token remove --name alice --sha256 x").status, 5);
  const std::string hash = Sha256Hex(first.substr(0, first.size() - 1));
  EXPECT_EQ(Run("token remove --name alice --sha256 " + hash.substr(0, 12)).status, 0);
  const std::string left = Run("token list").text;
  EXPECT_EQ(left.find("admin"), std::string::npos);
  EXPECT_THAT(left, HasSubstr("submit  alice"));
}

TEST_F(ProgramTest, TokensAddedAtOnceAreAllKept) {
  constexpr int kAtOnce = 16;
  std::vector<std::thread> adding;
  for (int i = 0; i < kAtOnce; ++i) {
    adding.emplace_back([this, i] {
      EXPECT_EQ(Run("--quiet token add --role read --name n" + std::to_string(i)).status, 0);
    });
  }
  for (std::thread& thread : adding) thread.join();
  const std::string list = Run("token list").text;
  for (int i = 0; i < kAtOnce; ++i) EXPECT_THAT(list, HasSubstr(" n" + std::to_string(i) + " "));
}

TEST_F(ProgramTest, TokensFileIsItsOwnersAndKeepsItsPermissions) {
  const auto mode = [this] {
    return std::filesystem::status(Path("tokens")).permissions() & std::filesystem::perms::all;
  };
  EXPECT_EQ(Run("--quiet token add --role read --name a").status, 0);
  EXPECT_EQ(mode(), std::filesystem::perms(0600));
  EXPECT_EQ(Run("--quiet token add --role read --name b").status, 0);
  EXPECT_EQ(mode(), std::filesystem::perms(0600));
  std::filesystem::permissions(Path("tokens"), std::filesystem::perms(0640));
  EXPECT_EQ(Run("token remove --name b").status, 0);
  EXPECT_EQ(mode(), std::filesystem::perms(0640));
}

TEST_F(ProgramTest, MistakesOfTheCommandLineDoNotControlTheTerminal) {
  const Ran unknown = Run("'--no-such-flag=\x1b[2J'");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.text.find('\x1b'), std::string::npos) << unknown.text;
  const Ran missing = Run("check '/no/such\x1b[2J/file.yaml'");
  EXPECT_EQ(missing.status, 5);
  EXPECT_THAT(missing.text, HasSubstr("/no/such\\x1b[2J/file.yaml"));
}

TEST_F(ProgramTest, AWordThatIsNoCommandIsNamedAndHelpIsACommand) {
  const Ran unknown = Run("statu");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.text, HasSubstr("inlier: there is no command 'statu'; did you mean \"status\"?"));
  const Ran extra = Run("status s-1 x.tex -o");
  EXPECT_EQ(extra.status, 2);
  EXPECT_THAT(extra.text, HasSubstr("inlier: status: unexpected arguments: x.tex -o"));
  const Ran help = Run("help status");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.text,
              AllOf(HasSubstr("Usage: inlier status"), HasSubstr("--server"), HasSubstr("--json")));
  EXPECT_THAT(Run("help").text,
              AllOf(HasSubstr("\nRun:\n  run "), HasSubstr("\nObserve:\n"), HasSubstr("\nResults:\n"),
                    HasSubstr("\nControl:\n"), HasSubstr("\nOperate:\n"),
                    testing::Not(HasSubstr("Subcommands:")), testing::Not(HasSubstr("__complete"))));
}

TEST_F(ProgramTest, EveryMistypedWordHasTheNearest) {
  EXPECT_THAT(Run("help statu").text, HasSubstr("did you mean \"status\"?"));
  EXPECT_THAT(Run("table smoke --format markdwon").text, HasSubstr("did you mean \"markdown\"?"));
  EXPECT_THAT(Run("table smoke --fromat text").text, HasSubstr("did you mean \"--format\"?"));
  EXPECT_THAT(Run("token add --role raed --name a").text, HasSubstr("did you mean \"read\"?"));
  EXPECT_THAT(Run("completion bahs").text, HasSubstr("did you mean \"bash\"?"));
}

TEST_F(ProgramTest, EveryCommandHasAGroupAndExamplesAndNamesTheGlobalOptions) {
  const std::string unknown = Run("no-such-command").text;
  const std::size_t first = unknown.find("Commands: ") + 10;
  std::string verbs = unknown.substr(first, unknown.find('\n', first) - first);
  int count = 0;
  for (std::size_t end = 0; !verbs.empty(); verbs.erase(0, std::min(end + 2, verbs.size())), ++count) {
    end = std::min(verbs.find(", "), verbs.size());
    const std::string verb = verbs.substr(0, end);
    EXPECT_THAT(Run("help " + verb).text,
                AllOf(HasSubstr("Examples:\n  "),
                      HasSubstr("inlier " + verb == "inlier completion" ? verb : "inlier " + verb),
                      HasSubstr("--dir, ")))
        << verb;
  }
  EXPECT_GT(count, 25);
}

TEST_F(ProgramTest, CompletionIsSilentWhenNothingAnswers) {
  for (const char* kind : {"sweeps", "trials", "both", "workers", "scales /no/such.yaml", "axes", "axes s-1",
                           "axes /no/such.yaml"}) {
    const Ran ran = Run(std::string("__complete ") + kind);
    EXPECT_EQ(ran.status, 0) << kind;
    EXPECT_EQ(ran.text, "") << kind;
  }
  const std::string script = Run("completion bash").text;
  EXPECT_THAT(script, AllOf(HasSubstr("'table --format') words="), HasSubstr("__complete"),
                            HasSubstr("--tls-ca|"), HasSubstr("watch) words='"), HasSubstr("ask=sweeps")));
  EXPECT_THAT(Run("completion fish").text, HasSubstr("(inlier __complete sweeps 2>/dev/null)"));
}

TEST_F(ProgramTest, CompletionKnowsWhatAnOptionTakes) {
  const std::string script = Run("completion bash").text;
  EXPECT_THAT(
      script,
      AllOf(HasSubstr("'plot --kind') words='curves against"), HasSubstr("'table --rows') value=axes"),
            HasSubstr("'plot --y') value=measurements"), HasSubstr("'submit --scale') value=scales"),
            HasSubstr("'table --title') value=files"), HasSubstr("*' --dir') value=files")));
  EXPECT_THAT(script, Not(HasSubstr("--differences') ")));
  EXPECT_THAT(
      Run("completion fish").text,
      AllOf(HasSubstr("-l rows -x -a \"(inlier __complete axes (commandline -opc)[3] 2>/dev/null)\"\n"),
            HasSubstr("-l title -r\n"), HasSubstr("-l differences\n")));
  std::ofstream(Path("s.yaml"))
      << "name: s\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2}}\n"
         "axes: [{field: seed, values: [1]}, {name: method, variants: [{label: a, set: {}}]}]\n";
  EXPECT_EQ(Run("__complete axes " + Path("s.yaml")).text, "seed\nmethod\n");
  EXPECT_THAT(Run("__complete measurements").text, HasSubstr("perplexity\n"));
}

TEST_F(ProgramTest, MeasurementsAreListedAndFiltered) {
  const Ran all = Run("measurements --filter 'KURTOSIS token 1'");
  EXPECT_EQ(all.status, 0) << all.text;
  EXPECT_THAT(all.text, AllOf(HasSubstr("kurtosis_first\n    1; lower is better; curve and final, of "
                                        "evaluate; final with evaluation.measure: ALL\n"
                                        "    the same over token 1 (Kaul et al. 2025)\n"),
                              Not(HasSubstr("perplexity"))));
  const auto json = nlohmann::json::parse(Run("measurements --json").text);
  EXPECT_EQ(json.size(), Measurements().size());
  EXPECT_EQ(json[1]["name"], "perplexity");
  EXPECT_EQ(json[1]["formula"], "exp(loss)");
  EXPECT_THAT(Run("measurements --filter nonsense").text, HasSubstr("no measurement has \"nonsense\""));
}

TEST_F(ProgramTest, ACorpusThatThisMachineHasNotIsAWarning) {
  std::ofstream(Path("s.yaml"))
      << "name: s\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: no-such-corpus, "
         "sequence_length: 32}}, training: {steps: 2}}\n";
  const Ran checked = Run("check " + Path("s.yaml"));
  EXPECT_EQ(checked.status, 0) << checked.text;
  EXPECT_THAT(checked.text, HasSubstr("is valid: 1 trial"));
  if (!std::filesystem::exists(INLIER_DEFAULT_DATA_DIR))
    GTEST_SKIP() << "no data folder: nothing can be known";
  EXPECT_THAT(checked.text, HasSubstr("data.text.corpus: \"no-such-corpus\" is not in the data folder"));
}

TEST_F(ProgramTest, TokenOfAnUnknownRoleOrNameIsRefused) {
  EXPECT_EQ(Run("token add --role boss --name alice").status, 2);
  const Ran ran = Run("token add --role read --name 'two words'");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.text, HasSubstr("'two words' is not a name of a token"));
  EXPECT_FALSE(std::filesystem::exists(Path("tokens")));
}

TEST_F(ProgramTest, AFolderWithoutACoordinatorIsNeverAnotherOne) {
  const Ran absent = RunWith("", "--dir /no/such/folder cancel s-5");
  EXPECT_EQ(absent.status, 5) << absent.text;
  EXPECT_THAT(absent.text,
              HasSubstr("there is no folder /no/such/folder (--dir); `inlier up --dir /no/such/folder`"));
  const Ran stopped = RunWith("INLIER_DIR=" + folder_.path().string(), "cancel s-5");
  EXPECT_EQ(stopped.status, 4) << stopped.text;
  EXPECT_THAT(stopped.text,
              AllOf(HasSubstr("no coordinator is running in " + folder_.path().string() + " (INLIER_DIR)"),
                    HasSubstr("--server HOST:PORT")));
}

TEST_F(ProgramTest, WhereSaysWhatIsReadAndWhy) {
  MakeDatabase();
  const Ran people = Run("where");
  EXPECT_EQ(people.status, 0) << people.text;
  EXPECT_THAT(people.text, AllOf(HasSubstr("none is running"), HasSubstr("chosen by    --dir\n"),
                                 HasSubstr("/nonexistent/inlier/client.yaml (not there)")));
  EXPECT_EQ(Run("--quiet where").text, folder_.path().string() + "\n");
  const Ran unreachable = RunWith("INLIER_SERVER=127.0.0.1:1", "where");
  EXPECT_EQ(unreachable.status, 4);
  EXPECT_THAT(unreachable.text,
              AllOf(HasSubstr("coordinator  127.0.0.1:1\n"), HasSubstr("chosen by    INLIER_SERVER"),
                    HasSubstr("no coordinator answers at 127.0.0.1:1")));
}

TEST_F(ProgramTest, TheUsersFileIsReadAndItsMistakesAreNamed) {
  MakeDatabase();
  std::filesystem::create_directory(Path("inlier"));
  std::ofstream(Path("inlier/client.yaml")) << "dir: ..\n";
  const std::string home = "XDG_CONFIG_HOME=" + folder_.path().string();
  const auto found = nlohmann::json::parse(RunWith(home, "where --json").text, nullptr, false);
  ASSERT_TRUE(found.is_object());
  EXPECT_EQ(found["answers"], "folder");
  EXPECT_EQ(found["chosen_by"], Path("inlier/client.yaml"));
  std::ofstream(Path("inlier/client.yaml")) << "sever: a:1\n";
  const Ran wrong = RunWith(home, "where");
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.text, HasSubstr("client.yaml:1:1: unknown key \"sever\"; did you mean \"server\"?"));
}

TEST_F(ProgramTest, TokenForAnotherMachineInPlainTextIsNotSent) {
  std::ofstream(Path("token")) << "inlier_secret\n";
  std::filesystem::permissions(Path("token"), std::filesystem::perms(0600));
  const Ran ran = Run("--server 192.0.2.1:7420 --token-file " + Path("token") + " status");
  EXPECT_EQ(ran.status, 3) << ran.text;
  EXPECT_THAT(ran.text, AllOf(HasSubstr("plain text"), testing::Not(HasSubstr("inlier_secret"))));
}

}  // namespace
}  // namespace inlier
