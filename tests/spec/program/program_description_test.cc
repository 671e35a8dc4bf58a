#include "spec/program/program_description.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>

#include "base/files/descriptor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/spec/program/program_folder.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kLeast[] = "name: p\ncommand: [./run]\nfiles: [train.py]\n";

// What is wrong with the description, or "OK".
std::string ErrorOf(const std::string& description) {
  const ProgramFolder folder(description);
  std::string message = MessageOf(ReadProgram(folder.path()).status());
  const std::string prefix = (folder.path() / kProgramFileName).string() + ":";
  for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
  return message;
}

std::string DigestOf(const ProgramFolder& folder) {
  return ProgramDigest(folder.path(), ReadProgram(folder.path()).value()).value();
}

TEST(ProgramDescriptionTest, IsReadFromTheFileBesideTheProgram) {
  const ProgramFolder folder;
  const v1::ProgramDescription read = ReadProgram(folder.path()).value();
  EXPECT_EQ(read.name(), "mygpt");
  EXPECT_EQ(read.parameters().size(), 9u);
  EXPECT_EQ(read.parameters().at("optimizer.name").choices_size(), 2);
  EXPECT_EQ(read.measurements().at("perplexity").better(), v1::ProgramMeasurement::LOWER);
  EXPECT_EQ(ReadProgram("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST(ProgramDescriptionTest, EachMistakeIsNamedWithItsPlaceAndRemedy) {
  EXPECT_EQ(ErrorOf(kLeast), "OK");
  const auto with = [](const std::string& parameter) {
    return ErrorOf(std::string(kLeast) + "parameters: {" + parameter + "}\n");
  };
  EXPECT_EQ(ErrorOf("command: [./run]\n"), "1:1: name: is missing: give a text");
  EXPECT_EQ(ErrorOf("name: p\n"), "1:1: command: is missing: give a text");
  EXPECT_THAT(ErrorOf("name: 'a b'\ncommand: [x]\n"), HasSubstr("1:1: name: \"a b\" cannot name a program"));
  EXPECT_THAT(ErrorOf(std::string(kLeast) + "parmeters: {}\n"), HasSubstr("did you mean \"parameters\"?"));
  EXPECT_EQ(with("x: {default: 1}"), "4:14: parameters.x.type: is missing: give one of its values");
  EXPECT_THAT(with("x: {type: FLOAT}"), HasSubstr("parameters.x.type"));
  EXPECT_THAT(with("3x: {type: NUMBER}"), HasSubstr("\"3x\" cannot name a parameter: use letters"));
  EXPECT_THAT(with("a..b: {type: NUMBER}"), HasSubstr("\"a..b\" cannot name a parameter"));
  EXPECT_THAT(with("seed: {type: INTEGER}"), HasSubstr("seed: is there for every program: remove it"));
  EXPECT_THAT(with("a: {type: NUMBER}, a.b: {type: NUMBER}"),
              HasSubstr("parameters.a.b: \"a\" is a parameter and cannot be a group too; rename one"));
  EXPECT_THAT(with("x: {type: NUMBER, default: fast}"),
              HasSubstr("parameters.x.default: \"fast\" is not a number; give one, or another type"));
  EXPECT_THAT(with("x: {type: INTEGER, default: 1.5}"), HasSubstr("1.5 is not a whole number"));
  EXPECT_THAT(with("x: {type: NUMBER, default: 2, max: 1}"),
              HasSubstr("2 is out of the range of min and max"));
  EXPECT_THAT(with("x: {type: NUMBER, min: 2, max: 1}"),
              HasSubstr("x.min: is above max; change one of them"));
  EXPECT_THAT(with("x: {type: TEXT, choices: [adam, sgd], default: adan}"),
              HasSubstr("did you mean \"adam\"?"));
  EXPECT_THAT(with("x: {type: NUMBER, choices: [a]}"), HasSubstr("x.choices: are of texts alone"));
  EXPECT_THAT(with("x: {type: TRUE_OR_FALSE, default: 1}"), HasSubstr("\"1\" is neither true nor false"));
  EXPECT_THAT(with("x: {type: NUMBER, default: 1, required: true}"),
              HasSubstr("has a default; leave out one of the two"));
  EXPECT_THAT(with("x: {type: NUMBER, column: 'a b'}"), HasSubstr("x.column: \"a b\" cannot name a column"));
  EXPECT_THAT(ErrorOf(std::string(kLeast) + "measurements: {a-b: {}}\n"),
              HasSubstr("\"a-b\" cannot name a measurement"));
  EXPECT_THAT(ErrorOf("name: p\ncommand: [x]\nfiles: [../x.py]\n"),
              HasSubstr("files[0]: \"../x.py\" leaves the program's folder; give a path or glob below it"));
  EXPECT_THAT(ErrorOf(std::string(kLeast) + "environment: {venv: .venv, conda: base}\n"),
              HasSubstr("environment: has more than one of venv, conda and image; keep one"));
  const auto image = [](const std::string& name) {
    return ErrorOf(std::string(kLeast) + "environment: {image: '" + name + "'}\n");
  };
  const std::string digest = "sha256:" + std::string(64, 'a');
  for (const std::string& good :
       {"ghcr.io/ann/net@" + digest, "net:1.0@" + digest, digest, std::string("in/net.sif")})
    EXPECT_EQ(image(good), "OK") << good;
  for (const std::string& bad : {std::string("net:latest"), "net@" + digest.substr(1),
                                 "--privileged@" + digest, "net" + digest, digest + "0"})
    EXPECT_THAT(image(bad), HasSubstr("environment.image: \"")) << bad;
  EXPECT_THAT(image("net:1"),
              HasSubstr("\"net:1\" may name another image tomorrow; give NAME@sha256:DIGEST"));
  EXPECT_THAT(image("../net.sif"), HasSubstr("\"../net.sif\" leaves the program's folder"));
  EXPECT_THAT(ErrorOf(std::string(kLeast) + "environment: {lock: /etc/passwd}\n"),
              HasSubstr("environment.lock: \"/etc/passwd\" leaves"));
}

// A data set or the attempts beside a program have many files.
TEST(ProgramDescriptionTest, AFolderThatNoGlobLeadsToIsNotEntered) {
  const ProgramFolder folder("name: p\ncommand: [x]\nfiles: ['src/*.py', 'lib/**/*.py']\n");
  for (const char* name : {"src/a.py", "src/deep/b.py", "lib/deep/c.py", "data/d.py"})
    folder.Write(name, name);
  const Descriptor watch(::inotify_init1(IN_NONBLOCK));
  for (const char* name : {"src/deep", "data"})
    ASSERT_GE(::inotify_add_watch(watch.fd(), (folder.path() / name).c_str(), IN_OPEN), 0);
  EXPECT_THAT(ProgramFiles(folder.path(), ReadProgram(folder.path()).value()).value(),
              ElementsAre("inlier-program.yaml", "lib/deep/c.py", "src/a.py"));
  std::array<char, 4096> opened;
  EXPECT_LT(::read(watch.fd(), opened.data(), opened.size()), 0);
}

TEST(ProgramDescriptionTest, ItsFilesAreThoseThatItsGlobsMatchAndItsDescriptionAndLock) {
  const ProgramFolder folder(
      "name: p\ncommand: [x]\nfiles: ['*.py', 'src/**/*.py']\nenvironment: {lock: locked.txt, image: "
      "net.sif}\n");
  for (const char* name :
       {"net.sif", "src/a.py", "src/deep/er/b.py", "src/c.txt", "locked.txt", ".hidden/d.py",
        "src/__pycache__/e.py", "other/f.py", "src/env/g.py", "src/env/pyvenv.cfg"})
    folder.Write(name, name);
  EXPECT_THAT(ProgramFiles(folder.path(), ReadProgram(folder.path()).value()).value(),
              ElementsAre("evaluate.py", "inlier-program.yaml", "locked.txt", "net.sif", "src/a.py",
                          "src/deep/er/b.py", "train.py"));
  const ProgramFolder none("name: p\ncommand: [x]\nfiles: ['*.cu']\n");
  EXPECT_THAT(MessageOf(ProgramFiles(none.path(), ReadProgram(none.path()).value()).status()),
              HasSubstr("files: \"*.cu\" matches no file in"));
}

TEST(ProgramDescriptionTest, ItsDigestIsThatOfNamesAndContents) {
  const ProgramFolder one, two;
  EXPECT_EQ(DigestOf(one), DigestOf(two));
  two.Write("notes.txt", "not a part of it");
  EXPECT_EQ(DigestOf(one), DigestOf(two));
  two.Write("train.py", "print('Train')\n");
  EXPECT_NE(DigestOf(one), DigestOf(two));
  one.Write("train.py", "print('Train')\n");
  EXPECT_EQ(DigestOf(one), DigestOf(two));
  fs::rename(two.path() / "train.py", two.path() / "train2.py");
  EXPECT_NE(DigestOf(one), DigestOf(two));
}

TEST(ProgramDescriptionTest, NamesOfColumnsThatAreTakenAreRefusedWithTheRemedy) {
  const auto with = [](const std::string& more) { return ErrorOf(kLeast + more); };
  EXPECT_EQ(
      with("parameters: {state: {type: TEXT}}\n"),
      "4:14: parameters.state: \"state\" is a column of the views already; give another one, with `column:`");
  EXPECT_EQ(
      with("parameters: {a.Spec: {type: TEXT, column: Label}}\n"),
      "4:35: parameters.a.Spec.column: \"Label\" is a column of the views already; give another one, with "
      "`column:`");
  EXPECT_THAT(with("parameters: {data.seed: {type: INTEGER}}\n"),
              HasSubstr("\"seed\" is a column of the views"));
  EXPECT_THAT(with("parameters: {perplexity: {type: NUMBER}}\n"),
              HasSubstr("\"perplexity\" is the column of a measurement"));
  EXPECT_EQ(with("parameters: {gamma: {type: NUMBER}, softmax: {type: TEXT}, inf_norm: {type: NUMBER}}\n"),
            "OK");
  EXPECT_EQ(with("parameters: {a.lr: {type: NUMBER}, b.LR: {type: NUMBER}}\n"),
            "4:36: parameters.b.LR: \"LR\" is the column of a.lr; give another one, with `column:`");
  EXPECT_EQ(with("parameters: {a.lr: {type: NUMBER}, b.lr: {type: NUMBER, column: b_lr}}\n"), "OK");
  EXPECT_EQ(with("measurements: {trial: {}}\n"),
            "4:16: measurements.trial: \"trial\" is a column of the views already; rename the measurement");
  EXPECT_THAT(with("measurements: {gamma: {}}\n"), HasSubstr("\"gamma\" is the column of a parameter"));
  EXPECT_EQ(
      with("parameters: {a.score: {type: NUMBER}}\nmeasurements: {score: {}}\n"),
      "5:16: measurements.score: \"score\" is the column of a.score; give a parameter another `column:`, or "
      "rename the measurement");
}

}  // namespace
}  // namespace inlier
