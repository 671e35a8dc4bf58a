#include "core/trial/data_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "google/protobuf/text_format.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DataDigestTest : public testing::Test {
 protected:
  void Write(const fs::path& name, const std::string& content) {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << content;
  }
  absl::StatusOr<std::string> Find(const std::string& spec) {
    v1::AttemptSpec request;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(spec, request.mutable_spec())) << spec;
    request.set_data_dir(folder_.path() / "data");
    request.set_cache_dir(folder_.path() / "cache");
    return DigestOf(request);
  }
  std::string Digest(const std::string& spec) { return Find(spec).value(); }
  std::string Path(const std::string& name) { return "\"" + (folder_.path() / name).string() + "\""; }

  TemporaryFolder folder_;
};

TEST_F(DataDigestTest, IsOfTheContentOfAllFilesAndOfNothingElse) {
  Write("a.txt", "one\n");
  Write("b.txt", "one\n");
  const std::string a = "data { text { path: " + Path("a.txt") + " } }";
  const std::string before = Digest(a);
  EXPECT_EQ(before.size(), 64u);
  EXPECT_EQ(Digest(a), before);
  EXPECT_EQ(Digest("data { text { path: " + Path("b.txt") + " sequence_length: 9 } }"), before);
  Write("a.txt", "two\n");
  EXPECT_NE(Digest(a), before);
}

TEST_F(DataDigestTest, AFolderIsItsTextFilesInTheirOrder) {
  Write("texts/1.txt", "one\n");
  Write("texts/2.txt", "two\n");
  const std::string spec = "data { text { path: " + Path("texts") + " } }";
  const std::string before = Digest(spec);
  Write("texts/notes.md", "not a text\n");
  EXPECT_EQ(Digest(spec), before);
  Write("texts/1.txt", "two\n");
  Write("texts/2.txt", "one\n");
  EXPECT_NE(Digest(spec), before);
}

TEST_F(DataDigestTest, QuestionsOfTheEvaluationCount) {
  Write("a.txt", "one\n");
  Write("q.jsonl", "{}\n");
  const std::string data = "data { text { path: " + Path("a.txt") + " } }";
  const std::string asked = data + " evaluation { multiple_choice { path: " + Path("q.jsonl") + " } }";
  const std::string before = Digest(asked);
  EXPECT_NE(before, Digest(data));
  Write("q.jsonl", "{ }\n");
  EXPECT_NE(Digest(asked), before);
  EXPECT_THAT(
      std::string(
          Find(data + " evaluation { multiple_choice { path: \"/none.jsonl\" } }").status().message()),
      HasSubstr("evaluation.multiple_choice.path: no file /none.jsonl on this machine; name a .jsonl file"));
}

TEST_F(DataDigestTest, VocabulariesAndTheModelToStartFromCount) {
  Write("a.txt", "one\n");
  Write("data/gcide.txt", "a dictionary\n");
  Write("vocabulary/vocab.txt", "[PAD]\n[UNK]\n");
  Write("model/config.json", "{}");
  Write("model/model.safetensors", "weights");
  const std::string path = "path: " + Path("a.txt");
  const std::string plain = Digest("data { text { " + path + " } }");
  const std::string wordpiece =
      "data { text { " + path + " tokenizer { wordpiece { vocab: " + Path("vocabulary") + " } } } }";
  const std::string trained = "data { text { " + path + " tokenizer { byte_pair { corpus: \"gcide\" } } } }";
  const std::string started =
      "data { text { " + path + " } } training { start_from { hugging_face: " + Path("model") + " } }";
  const std::string before[] = {Digest(wordpiece), Digest(trained), Digest(started)};
  for (const std::string& digest : before) EXPECT_NE(digest, plain);
  Write("vocabulary/vocab.txt", "[PAD]\n[UNK]\nthe\n");
  Write("data/gcide.txt", "another dictionary\n");
  Write("model/model.safetensors", "other weights");
  EXPECT_NE(Digest(wordpiece), before[0]);
  EXPECT_NE(Digest(trained), before[1]);
  EXPECT_NE(Digest(started), before[2]);
}

TEST_F(DataDigestTest, AVocabularysOwnTextAndTheFormOfRecordsCount) {
  Write("a.txt", "one\n");
  Write("words.txt", "a dictionary\n");
  const std::string trained = "data { text { path: " + Path("a.txt") +
                              " tokenizer { byte_pair { path: " + Path("words.txt") + " } } } }";
  const std::string before = Digest(trained);
  EXPECT_NE(before, Digest("data { text { path: " + Path("a.txt") + " } }"));
  Write("words.txt", "another dictionary\n");
  EXPECT_NE(Digest(trained), before);

  const auto rows = [&](const std::string& name) {
    Write(name, "sentence\tlabel\na\tx\n");
    return Digest("data { classification { path: " + Path(name) + " } }");
  };
  EXPECT_EQ(rows("rows.tsv"), rows("rows.txt"));
  EXPECT_NE(rows("rows.tsv"), rows("rows.csv"));
  EXPECT_NE(rows("rows.csv"), rows("rows.json"));
}

TEST_F(DataDigestTest, LabelledRowsInstructionsAndImagesHaveDigests) {
  Write("rows/train.tsv", "sentence\tlabel\na\tx\n");
  Write("rows/dev.tsv", "sentence\tlabel\nb\ty\n");
  Write("pairs.jsonl", "{}\n");
  Write("images/train/cat/1.png", "not really one");
  Write("images/validation/cat/1.png", "nor this");
  const std::string rows = "data { classification { path: " + Path("rows") + " } }";
  const std::string pairs = "data { instructions { path: " + Path("pairs.jsonl") + " } }";
  const std::string images = "data { images { path: " + Path("images") + " } }";
  const std::string before[] = {Digest(rows), Digest(pairs), Digest(images)};
  Write("rows/dev.tsv", "sentence\tlabel\nc\ty\n");
  Write("pairs.jsonl", "{\"instruction\": \"\"}\n");
  fs::rename(folder_.path() / "images/train/cat/1.png", folder_.path() / "images/train/cat/2.png");
  EXPECT_NE(Digest(rows), before[0]);
  EXPECT_NE(Digest(pairs), before[1]);
  EXPECT_NE(Digest(images), before[2]);
}

TEST_F(DataDigestTest, ScriptsCountWhereThereAreAny) {
  Write("a.txt", "one\n");
  Write("mine.pt", "a function");
  const std::string data = "data { text { path: " + Path("a.txt") + " } } ";
  const std::string softmax = data + "attention { softmax { script { file: " + Path("mine.pt") + " } } }";
  const std::string gate = data + "attention { gate { script { file: " + Path("mine.pt") + " } } }";
  const std::string plain = Digest(data + "attention { softmax { vanilla {} } }"), before = Digest(softmax);
  EXPECT_EQ(plain, Digest(data));
  EXPECT_NE(before, plain);
  EXPECT_NE(before, Digest(gate));
  Write("mine.pt", "another function");
  EXPECT_NE(Digest(softmax), before);
  EXPECT_THAT(Find("attention { gate { script { file: \"/no/such.pt\" } } }").status().ToString(),
              HasSubstr("attention.gate.script.file: no file /no/such.pt on this machine; save it there"));
}

TEST_F(DataDigestTest, AMissingFileIsNamedByItsField) {
  EXPECT_THAT(Find("data { text { path: \"/no/such/file\" } }").status().ToString(),
              HasSubstr("data.text.path: no file /no/such/file on this machine"));
  Write("a.txt", "one\n");
  EXPECT_THAT(Find("data { text { path: " + Path("a.txt") +
                   " } } training { start_from { checkpoint: \"/no/model\" } }")
                  .status()
                  .ToString(),
              HasSubstr("training.start_from: no file /no/model on this machine"));
}

TEST_F(DataDigestTest, TheSecondTimeItIsRemembered) {
  Write("model.safetensors", "weights");
  fs::last_write_time(folder_.path() / "model.safetensors",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  v1::TrialSpec spec;
  spec.mutable_training()->mutable_start_from()->set_checkpoint(folder_.path() / "model.safetensors");
  TextOpenOptions folders;
  folders.cache_dir = folder_.path() / "cache";
  fs::create_directories(folders.cache_dir);
  const std::string digest = *StartDigest(spec, folders);
  ASSERT_FALSE(fs::is_empty(folder_.path() / "cache"));
  // The stored digests are used.
  for (const auto& entry : fs::directory_iterator(folder_.path() / "cache")) {
    std::ifstream in(entry.path());
    std::string remembered, state;
    in >> remembered;
    std::getline(in >> std::ws, state);
    std::ofstream(entry.path()) << std::string(64, 'f') << " " << state << "\n";
  }
  EXPECT_EQ(*StartDigest(spec, folders), std::string(64, 'f'));
  EXPECT_NE(digest, std::string(64, 'f'));
}

TEST_F(DataDigestTest, ReadingIsReportedPieceByPieceAndWhatIsRememberedIsNot) {
  constexpr std::uint64_t kMiB = 1 << 20;
  Write("texts/1.txt", std::string(3 * kMiB, 'a'));
  Write("texts/2.txt", std::string(kMiB / 2, 'b'));
  for (const char* name : {"texts/1.txt", "texts/2.txt"})
    fs::last_write_time(folder_.path() / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  v1::AttemptSpec request;
  request.mutable_spec()->mutable_data()->mutable_text()->set_path(folder_.path() / "texts");
  request.set_cache_dir(folder_.path() / "cache");
  std::vector<std::uint64_t> bytes;
  const auto note = [&bytes](std::uint64_t read, std::uint64_t total) {
    EXPECT_EQ(total, 3 * kMiB + kMiB / 2);
    if (!bytes.empty()) {
      EXPECT_GT(read, bytes.back());
    }
    bytes.push_back(read);
  };
  const std::string digest = DigestOf(request, note).value();
  EXPECT_GE(bytes.size(), 14u);
  EXPECT_EQ(bytes.back(), 3 * kMiB + kMiB / 2);
  bytes.clear();
  EXPECT_EQ(*DigestOf(request, note), digest);
  EXPECT_TRUE(bytes.empty());
}

}  // namespace
}  // namespace inlier
