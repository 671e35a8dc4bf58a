#include "core/text/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "base/digest.h"
#include "tests/core/data/data_files.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CorpusTest, TextsAreTheLinesThatAreNotBlank) {
  TemporaryFolder folder;
  const auto corpus = Corpus::Open({folder.Write("a.txt", "one\r\n\n  \t\r\n two \nlast without an end")});
  ASSERT_TRUE(corpus.ok());
  EXPECT_THAT(corpus->texts(), ElementsAre("one", " two ", "last without an end"));
}

TEST(CorpusTest, AnEmptyFileHasNoTexts) {
  TemporaryFolder folder;
  const auto corpus = Corpus::Open({folder.Write("a.txt", "")}).value();
  EXPECT_TRUE(corpus.texts().empty());
}

std::string ErrorOf(const CorpusSource& source) {
  const auto corpus = Corpus::Open(source);
  return corpus.ok() ? "OK" : std::string(corpus.status().message());
}

TEST(CorpusTest, AFolderIsEveryTextFileBelowItInTheOrderOfTheirPaths) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "b/deep");
  folder.Write("b/deep/one.txt", "third\n");
  folder.Write("b/a.txt", "second\n");
  folder.Write("c.txt", "fourth\n\nfifth");
  folder.Write("a.txt", "first");
  folder.Write("b/notes.md", "not this\n");
  folder.Write("b/data.jsonl", "nor this\n");
  const auto corpus = Corpus::Open({folder.path()}).value();
  EXPECT_THAT(corpus.texts(), ElementsAre("first", "second", "third", "fourth", "fifth"));
}

TEST(CorpusTest, JsonLinesGiveOneFieldOfEveryObject) {
  TemporaryFolder folder;
  const auto file =
      folder.Write("a.jsonl",
                   "{\"text\": \"one\\ntwo \\u00e9\", \"id\": 1}\r\n\n{\"id\": 2, \"text\": \" \"}\n"
                   "{\"text\": \"last\", \"title\": \"T\"}");
  const auto corpus = Corpus::Open({file}).value();
  EXPECT_THAT(corpus.texts(), ElementsAre("one\ntwo \xC3\xA9", "last"));
  const auto titles =
      Corpus::Open({.path = folder.Write("b.jsonl", "{\"title\": \"T\"}\n"), .field = "title"}).value();
  EXPECT_THAT(titles.texts(), ElementsAre("T"));
}

TEST(CorpusTest, OtherRecordsGiveOneColumn) {
  TemporaryFolder folder;
  const auto texts = [&folder](const std::string& name, const std::string& content,
                               const std::string& field) {
    return Corpus::Open({.path = folder.Write(name, content), .field = field}).value();
  };
  EXPECT_THAT(texts("a.csv", "id,review\n1,\"one\ntwo\"\n2, \n3,last\n", "review").texts(),
              ElementsAre("one\ntwo", "last"));
  EXPECT_THAT(texts("a.tsv", "id\treview\n1\t\"one\n", "review").texts(), ElementsAre("\"one"));
  const Corpus array = texts("a.json", "[{\"text\": \"one\"},\n{\"text\": \"two\"}]", "text");
  EXPECT_THAT(array.texts(), ElementsAre("one", "two"));
  EXPECT_TRUE(array.HasDocuments());
}

// The same bytes are other data where they are read in another way.
TEST(CorpusTest, TheFormAndTheFieldAreInTheDigest) {
  TemporaryFolder folder;
  std::set<std::string> digests;
  for (const char* name : {"a.txt", "a.csv", "a.tsv"}) {
    const CorpusSource source = {.path = folder.Write(name, "text\none\ntwo\n")};
    digests.insert(Corpus::Open(source)->ContentDigest());
    EXPECT_EQ(Corpus::Open(source)->ContentDigest(), CachedDigest(source, folder.path()).value());
  }
  const CorpusSource other = {.path = folder.Write("b.csv", "text,more\none,x\ntwo,y\n"), .field = "more"};
  digests.insert(Corpus::Open(other)->ContentDigest());
  EXPECT_EQ(digests.size(), 4u);
}

TEST(CorpusTest, ErrorsInAFileNameLineAndRemedy) {
  TemporaryFolder folder;
  EXPECT_THAT(
      ErrorOf({folder.Write("a.txt", "one\ncaf\xe9 au lait\n")}),
      HasSubstr("a.txt:2: byte 4 of the line is not UTF-8; convert the file, for example with iconv"));
  EXPECT_THAT(ErrorOf({folder.Write("a.jsonl", "{\"text\": \"x\"}\n{\"text\": \"x\n")}),
              HasSubstr("a.jsonl:2:12: not JSON: "));
  EXPECT_THAT(
      ErrorOf({folder.Write("b.jsonl", "{\"text\": \"x\"}\n\n[1]\n")}),
      HasSubstr("b.jsonl:3: a JSON object is needed in every line, such as {\"text\": \"…\"}, and this is "
                "of type array"));
  EXPECT_THAT(
      ErrorOf({folder.Write("c.jsonl", "{\"id\": 3, \"body\": \"x\"}\n")}),
      HasSubstr("c.jsonl:1: no field \"text\" among its 2; known: body, id; name the one that is wanted by "
                "data.text.field"));
  EXPECT_THAT(ErrorOf({folder.Write("d.jsonl", "{\"text\": 7}\n")}),
              HasSubstr("d.jsonl:1: the field \"text\" is of type number"));
  EXPECT_THAT(ErrorOf({folder.Write("e.jsonl", "{\"text\": \"\\ud800\"}\n")}), HasSubstr("e.jsonl:1:"));
  EXPECT_THAT(ErrorOf({folder.Write("f.jsonl", "{\"text\": \"a\", \"text\": \"b\"}\n")}),
              HasSubstr("f.jsonl:1: a key of an object occurs twice"));
  EXPECT_THAT(ErrorOf({folder.Write("g.jsonl", "{\"text\": \"\xff\"}\n")}), HasSubstr("g.jsonl:1: byte 11"));
}

TEST(CorpusTest, ACorpusOfTheDataFolderIsTakenAsItIs) {
  TemporaryFolder folder;
  const auto corpus = Corpus::Open({.path = folder.Write("a.txt", "caf\xe9\n"), .must_be_utf8 = false});
  ASSERT_TRUE(corpus.ok()) << corpus.status();
  EXPECT_THAT(corpus->texts(), ElementsAre("caf\xe9"));
}

TEST(CorpusTest, FoldersAndFilesThatCannotBeReadAreRefused) {
  TemporaryFolder folder;
  EXPECT_THAT(ErrorOf({folder.path()}), HasSubstr("no .txt file in the folder " + folder.path().string() +
                                                  " or below it; put text files there"));
  folder.Write("a.txt", "x\n");
  std::filesystem::create_symlink(folder / "gone", folder / "b.txt");
  EXPECT_THAT(ErrorOf({folder.path()}), HasSubstr("cannot read " + (folder / "b.txt").string()));
  EXPECT_EQ(Corpus::Open({folder / "none"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf({"/dev/null"}),
              HasSubstr("/dev/null is a device, not a regular file; let the worker's user read it"));
}

TEST(CorpusTest, AMissingCorpusIsAnsweredWithTheFolderTheOthersAndTheRemedy) {
  TemporaryFolder folder;
  const absl::Status empty = FindCorpus("gcide", folder.path()).status();
  EXPECT_EQ(empty.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(empty.message()), HasSubstr("no corpora there"));
  folder.Write("wordnet.txt", "x");
  folder.Write("kjv.txt", "x");
  folder.Write("notes.md", "x");
  const absl::Status missing = FindCorpus("gcide", folder.path()).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(missing.message()),
            "data.text.corpus: no corpus \"gcide\" in " + folder.path().string() +
                " (there are: kjv, wordnet); get it with `make corpora`, or name a text file "
                "of your own with data.text.path");
  EXPECT_EQ(FindCorpus("kjv", folder.path()).value(), folder / "kjv.txt");
}

TEST(CorpusTest, ANameIsNotAPath) {
  TemporaryFolder folder;
  for (const char* name : {"../secrets", "/etc/passwd", "", ".hidden", "a b"}) {
    const absl::Status status = FindCorpus(name, folder.path()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("data.text.path"));
  }
}

TEST(FileDigestTest, IsRememberedUntilTheFileChanges) {
  TemporaryFolder folder, cache;
  const auto file = folder.Write("a.txt", "some text");
  const auto an_hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(file, an_hour_ago);
  EXPECT_EQ(CachedDigest({file}, cache.path()).value(), Sha256Hex("some text"));

  // Other content with the same size and time: the result is the cached digest, so the file was not read
  // again.
  std::ofstream(file, std::ios::binary | std::ios::in) << "SOME";
  std::filesystem::last_write_time(file, an_hour_ago);
  EXPECT_EQ(CachedDigest({file}, cache.path()).value(), Sha256Hex("some text"));

  std::filesystem::last_write_time(file, an_hour_ago + std::chrono::seconds(1));
  EXPECT_EQ(CachedDigest({file}, cache.path()).value(), Sha256Hex("SOME text"));
}

TEST(FileDigestTest, OfAFileThatChangedAMomentAgoIsNotRemembered) {
  TemporaryFolder folder, cache;
  const auto file = folder.Write("a.txt", "some text");
  EXPECT_EQ(CachedDigest({file}, cache.path()).value(), Sha256Hex("some text"));
  EXPECT_TRUE(std::filesystem::is_empty(cache.path()));
}

TEST(FileDigestTest, ADamagedMemoryIsIgnored) {
  TemporaryFolder folder, cache;
  const auto file = folder.Write("a.txt", "some text");
  std::filesystem::last_write_time(file,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(CachedDigest({file}, cache.path()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(cache.path()))
    std::filesystem::resize_file(entry.path(), 40);
  EXPECT_EQ(CachedDigest({file}, cache.path()).value(), Sha256Hex("some text"));
}

// A folder's digest depends on the content of its files and their order, not on its place.
TEST(FileDigestTest, OfAFolderAndOfJsonLinesFollowsTheContent) {
  TemporaryFolder one, two, cache;
  const auto digest = [&cache](const CorpusSource& source) {
    return CachedDigest(source, cache.path()).value();
  };
  for (const TemporaryFolder* folder : {&one, &two}) {
    folder->Write("a.txt", "some text");
    folder->Write("b.txt", "more text");
  }
  const std::string folder_digest = digest({one.path()});
  EXPECT_EQ(digest({two.path()}), folder_digest);
  EXPECT_EQ(Corpus::Open({one.path()})->ContentDigest(), folder_digest);
  two.Write("b.txt", "MORE text");
  EXPECT_NE(digest({two.path()}), folder_digest);
  two.Write("b.txt", "more text");
  two.Write("c.txt", "");
  EXPECT_NE(digest({two.path()}), folder_digest);

  const CorpusSource lines = {one.Write("a.jsonl", "{\"text\": \"x\", \"title\": \"y\"}\n")};
  EXPECT_EQ(Corpus::Open(lines)->ContentDigest(), digest(lines));
  EXPECT_NE(digest({.path = lines.path, .field = "title"}), digest(lines));
  EXPECT_NE(digest(lines), Sha256Hex(ReadAll(lines.path))) << "not the same texts as those of a .txt file";
}

TEST(FileDigestTest, AMissingFileIsNotFound) {
  TemporaryFolder folder;
  EXPECT_EQ(CachedDigest({folder / "none.txt"}, folder.path()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inlier
