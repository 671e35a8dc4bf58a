// Files that a trial names: only regular ones below the roots are read, and nothing of their content leaves.
#include <sys/stat.h>

#include <functional>
#include <set>

#include "google/protobuf/struct.pb.h"
#include "inlier/v1/param_options.pb.h"
#include "spec/schema/field_path.h"
#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using testing::HasSubstr;
using testing::Not;

constexpr char kSecret[] = "s3cr3t-4711";

constexpr char kBert[] = "model { bert { vocab_size: 2000 } } ";
constexpr char kGpt2[] =
    "model { gpt2 { layers: 1 hidden_size: 32 heads: 2 ffn_size: 64 vocab_size: 2000 } } ";
constexpr char kVit[] =
    "model { vit { layers: 1 hidden_size: 32 heads: 2 ffn_size: 64 image_size: 8 patch_size: 4 channels: 1 "
    "classes: 10 } } ";

// A field with a path, and the rest of a trial that reads it. Without `readable` no training reads it: the
// tokenizer does not fit the data, or it is the evaluation's.
struct Input {
  std::string field;
  std::string changes;
  bool readable = true;
};
const std::vector<Input>& Inputs() {
  static const std::vector<Input> inputs = {
      {"data.text.path", ""},
      {"data.text.tokenizer.wordpiece.vocab", kBert},
      {"data.text.tokenizer.byte_pair.path", kGpt2},
      {"data.text.tokenizer.gpt2.vocab", kGpt2},
      {"data.images.path", kVit},
      {"data.classification.path", kBert},
      {"data.classification.tokenizer.wordpiece.vocab",
       std::string(kBert) + "data { classification { path: '@good.tsv' } }"},
      {"data.classification.tokenizer.gpt2.vocab", "", false},
      {"data.classification.tokenizer.byte_pair.path",
       std::string(kBert) + "data { classification { path: '@good.tsv' } }"},
      {"data.instructions.path", kGpt2},
      {"data.instructions.tokenizer.wordpiece.vocab", "", false},
      {"data.instructions.tokenizer.gpt2.vocab",
       std::string(kGpt2) + "data { instructions { path: '@good.jsonl' } }"},
      {"data.instructions.tokenizer.byte_pair.path",
       std::string(kGpt2) + "data { instructions { path: '@good.jsonl' } }"},
      {"training.start_from.hugging_face", ""},
      {"training.start_from.checkpoint", ""},
      {"attention.softmax.script.file", ""},
      {"attention.gate.script.file", ""},
      {"evaluation.multiple_choice.path", "", false},
  };
  return inputs;
}

void CollectPaths(const Descriptor* type, const std::string& prefix, std::set<std::string>* paths) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const v1::FileUse use = field->options().GetExtension(v1::param).file();
    if (field->message_type() != nullptr && field->message_type() != google::protobuf::Struct::descriptor())
      CollectPaths(field->message_type(), prefix + field->name() + ".", paths);
    if (use == v1::FILE_PATH || use == v1::NAME_OR_PATH) paths->insert(prefix + field->name());
  }
}

class TrialFilesTest : public TrialProgramTest {
 protected:
  TrialFilesTest() {
    fs::create_directories(folder_ / "data");
    Write("data/good.tsv", "label\tsentence\na\tone two\nb\tthree\na\tfour\nb\tfive\na\tsix\nb\tseven\n");
    Write("data/good.jsonl",
          "{\"instruction\": \"a\", \"output\": \"b\"}\n{\"instruction\": \"c\", \"output\": "
          "\"d\"}\n");
  }

  fs::path Write(const std::string& name, const std::string& content) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

  // A training whose `input` is `path`, as a worker with the data folder folder_/data runs it.
  v1::AttemptSpec Reading(const Input& input, const fs::path& path) {
    std::string changes = input.changes;
    if (const std::size_t at = changes.find('@'); at != std::string::npos)
      changes.replace(at, 1, (folder_ / "data").string() + "/");
    v1::AttemptSpec attempt = Attempt(v1::TRAIN_STAGE, "out", changes);
    v1::TrialSpec& spec = *attempt.mutable_spec();
    if (!input.field.starts_with("data.text") && input.field.starts_with("data.") && spec.data().has_text())
      spec.mutable_data()->Clear();
    const auto field = FieldPath::Parse(v1::TrialSpec::descriptor(), input.field).value();
    EXPECT_TRUE(field.SetText(path.string(), &spec).ok());
    attempt.add_data_roots((folder_ / "data").string());
    attempt.add_data_roots(fs::path(INLIER_TINY_TEXT).parent_path().string());
    return attempt;
  }

  // The message of a training that fails, which must be free of the secret, as all else that leaves the child.
  std::string Refusal(const v1::AttemptSpec& attempt) {
    const Ended ended = RunToEnd(attempt);
    EXPECT_EQ(ended.outcome.kind(), v1::Outcome::FAILED) << attempt.spec().ShortDebugString();
    for (const v1::TrialEvent& event : ended.events)
      EXPECT_THAT(event.ShortDebugString(), Not(HasSubstr(kSecret)));
    EXPECT_THAT(Log(), Not(HasSubstr(kSecret)));
    return ended.outcome.message();
  }
};

TEST_F(TrialFilesTest, EveryPathOfTheSchemaIsTriedHere) {
  std::set<std::string> declared, tried;
  CollectPaths(v1::TrialSpec::descriptor(), "", &declared);
  for (const Input& input : Inputs()) tried.insert(input.field);
  EXPECT_EQ(declared, tried);
}

TEST_F(TrialFilesTest, NothingOutsideTheRootsIsRead) {
  const fs::path outside = Write("outside/file", kSecret);
  fs::create_symlink(outside, folder_ / "data/link");
  for (const Input& input : Inputs()) {
    if (!input.readable) continue;
    for (const fs::path& path : {outside, folder_ / "data/link"}) {
      const std::string message = FailureOf(Reading(input, path), v1::INVALID_SPEC);
      EXPECT_THAT(message, HasSubstr(input.field + ": " + path.string() + " is not in a folder")) << path;
      EXPECT_THAT(message, HasSubstr("data_roots"));
    }
  }
}

TEST_F(TrialFilesTest, QuestionsAreReadInsideTheRootsAndStayOutOfMessages) {
  const auto evaluation = [this](const fs::path& path) {
    v1::AttemptSpec attempt =
        Attempt(v1::EVALUATE_STAGE, "out",
                std::string(kGpt2) + "evaluation { multiple_choice { path: '" + path.string() + "' } }");
    attempt.set_checkpoint((folder_ / "data/model.safetensors").string());  // It is not there.
    attempt.add_data_roots((folder_ / "data").string());
    attempt.add_data_roots(fs::path(INLIER_TINY_TEXT).parent_path().string());
    return attempt;
  };
  const fs::path outside = Write("outside/q.jsonl", kSecret);
  fs::create_symlink(outside, folder_ / "data/q.jsonl");
  for (const fs::path& path : {outside, folder_ / "data/q.jsonl"}) {
    EXPECT_THAT(Refusal(evaluation(path)),
                HasSubstr("evaluation.multiple_choice.path: " + path.string() + " is not in a folder"));
  }
  const std::string secret = kSecret;
  for (const std::string& line : {secret, "{\"" + secret + "\": 1}", "{\"task\": \"" + secret + "\"}"}) {
    const fs::path path = Write("data/own.jsonl", line + "\n");
    EXPECT_THAT(Refusal(evaluation(path)), HasSubstr(path.string())) << line;
  }
  ASSERT_EQ(::mkfifo((folder_ / "data/pipe.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(Refusal(evaluation(folder_ / "data/pipe.jsonl")), HasSubstr("pipe.jsonl"));
}

// A folder in a root, with a link to a file outside under each name that is looked for.
TEST_F(TrialFilesTest, LinksInFoldersAreFollowedOnlyInsideTheRoots) {
  const fs::path outside = Write("outside/file.txt", kSecret);
  const auto expect_refused = [&](const std::string& field, const std::string& name,
                                  const std::string& linked) {
    const fs::path folder = folder_ / "data" / name;
    fs::create_directories((folder / linked).parent_path());
    fs::create_symlink(outside, folder / linked);
    for (const Input& input : Inputs()) {
      if (input.field != field) continue;
      EXPECT_THAT(
          Refusal(Reading(input, folder)),
          HasSubstr((folder / linked).string() + " is not in a folder that this worker reads data from"));
    }
  };
  expect_refused("data.text.path", "texts", "a.txt");
  expect_refused("data.text.tokenizer.wordpiece.vocab", "words", "vocab.txt");
  Write("data/pairs/merges.txt", "");
  expect_refused("data.text.tokenizer.gpt2.vocab", "pairs", "vocab.json");
  Write("data/table/dev.tsv", "label\tsentence\na\tb\n");
  expect_refused("data.classification.path", "table", "train.tsv");
  Write("data/idx/train-labels-idx1-ubyte", "x");
  expect_refused("data.images.path", "idx", "train-images-idx3-ubyte");
  fs::create_directories(folder_ / "data/tree/val/a");
  Write("data/tree/val/a/x.png", "x");
  expect_refused("data.images.path", "tree", "train/a/x.png");
  expect_refused("training.start_from.hugging_face", "model", "model.safetensors");
}

TEST_F(TrialFilesTest, AFileOfARootIsReadAndSoIsALinkInsideIt) {
  fs::copy_file(INLIER_TINY_TEXT, folder_ / "data/text.txt");
  fs::create_symlink(folder_ / "data/text.txt", folder_ / "data/again.txt");
  v1::AttemptSpec attempt = Reading(Inputs()[0], folder_ / "data/again.txt");
  attempt.mutable_data_roots()->RemoveLast();
  EXPECT_EQ(RunToEnd(attempt).outcome.kind(), v1::Outcome::SUCCEEDED) << Log();
}

// Endless files, pipes and folders end at once, also where a person runs inlier-trial and nothing is limited.
TEST_F(TrialFilesTest, SpecialFilesAreRefusedBeforeTheyAreRead) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const Input& input : Inputs()) {
    if (!input.readable) continue;
    for (const fs::path& path : {fs::path("/dev/zero"), folder_ / "pipe"}) {
      v1::AttemptSpec attempt = Reading(input, path);
      attempt.clear_data_roots();
      EXPECT_THAT(FailureOf(attempt, v1::INVALID_SPEC), HasSubstr(path.string())) << input.field;
    }
  }
}

// The content of a file, of any kind and read as any kind, is in no message, event or log.
TEST_F(TrialFilesTest, ContentStaysOutOfMessagesEventsAndLogs) {
  const std::string secret = kSecret;
  const std::string plain = secret + "\n", json = "{\"" + secret + "\": \"" + secret + "\"}\n",
                    broken = "{\"" + secret + "\": " + secret + "}\n",
                    doubled = "{\"" + secret + "\": 1, \"" + secret + "\": 2}\n",
                    table = secret + "\t" + secret + "\n" + secret + "\t" + secret + "\n";
  const auto tensors = [](const std::string& header) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header;
  };
  const std::string header = tensors("{\"" + secret + "\":{\"dtype\":\"" + secret + "\"}}");
  const std::string complete =
      tensors("{\"" + secret + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
  const std::map<std::string, std::function<std::vector<fs::path>()>> files = {
      {"data.text.path",
       [&] {
         return std::vector<fs::path>{Write("data/a.jsonl", json),    Write("data/b.jsonl", broken),
                                      Write("data/c.jsonl", doubled), Write("data/d.jsonl", plain),
                                      Write("data/e.txt", plain),     Write("data/f.txt", secret + "\xff\n")};
       }},
      {"data.text.tokenizer.wordpiece.vocab",
       [&] {
         return std::vector<fs::path>{Write("data/g.txt", plain), Write("data/h.txt", plain + plain)};
       }},
      {"data.text.tokenizer.gpt2.vocab",
       [&] {
         Write("data/i-merges.txt", plain);
         Write("data/j-merges.txt", plain);
         return std::vector<fs::path>{Write("data/i-vocab.json", json), Write("data/j-vocab.json", broken)};
       }},
      {"data.text.tokenizer.byte_pair.path",
       [&] {
         return std::vector<fs::path>{Write("data/t.jsonl", broken), Write("data/u.txt", plain),
                                      Write("data/v.txt", secret + "\xff\n")};
       }},
      {"data.images.path",
       [&] {
         for (const char* part : {"train", "t10k"}) {
           Write("data/idx/" + std::string(part) + "-images-idx3-ubyte", plain);
           Write("data/idx/" + std::string(part) + "-labels-idx1-ubyte", plain);
         }
         for (const char* part : {"train", "val"}) {
           Write("data/tree/" + std::string(part) + "/a/x.png", plain);
           Write("data/png/" + std::string(part) + "/a/x.png", "\x89PNG\r\n\x1a\n" + plain + plain);
         }
         return std::vector<fs::path>{folder_ / "data/idx", folder_ / "data/tree", folder_ / "data/png"};
       }},
      {"data.classification.path",
       [&] {
         Write("data/parts/train.tsv", "label\tsentence\n1\ta\n2\tb\n");
         Write("data/parts/dev.tsv", "label\tsentence\n" + table);
         Write("data/one/train.tsv", "label\tsentence\n" + table);
         Write("data/one/dev.tsv", "label\tsentence\n" + table);
         return std::vector<fs::path>{Write("data/k.tsv", table), folder_ / "data/parts",
                                      folder_ / "data/one"};
       }},
      {"data.instructions.path",
       [&] {
         return std::vector<fs::path>{Write("data/l.jsonl", json), Write("data/m.jsonl", broken),
                                      Write("data/n.jsonl", "[\"" + secret + "\"]\n")};
       }},
      {"training.start_from.hugging_face",
       [&] {
         Write("data/shards/model.safetensors.index.json",
               "{\"weight_map\": {\"" + secret + "\": \"" + secret + "\"}}");
         Write("data/index/model.safetensors.index.json", broken);
         Write("data/plain/model.safetensors", plain);
         return std::vector<fs::path>{folder_ / "data/shards", folder_ / "data/index",
                                      folder_ / "data/plain"};
       }},
      {"training.start_from.checkpoint",
       [&] {
         return std::vector<fs::path>{Write("data/o.safetensors", header),
                                      Write("data/p.safetensors", complete),
                                      Write("data/q.safetensors", plain)};
       }},
      {"attention.softmax.script.file",
       [&] {
         return std::vector<fs::path>{Write("data/r.pt", plain), Write("data/s.pt", "PK\x03\x04" + plain)};
       }},
  };
  for (const Input& input : Inputs()) {
    const auto found = files.find(input.field);
    if (found == files.end()) continue;  // The same readers.
    for (const fs::path& path : found->second()) {
      // The file is named: it was the cause.
      EXPECT_THAT(Refusal(Reading(input, path)), HasSubstr(path.string())) << input.field;
    }
  }
}

}  // namespace
}  // namespace inlier
