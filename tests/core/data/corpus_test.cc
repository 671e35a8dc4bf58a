#include "core/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/digest.h"
#include "tests/core/data/temporary_folder.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CorpusTest, TextsAreTheLinesThatAreNotBlank) {
  TemporaryFolder folder;
  const auto corpus = Corpus::Open(folder.Write("a.txt", "one\r\n\n  \t\r\n two \nlast without an end"));
  ASSERT_TRUE(corpus.ok());
  EXPECT_THAT(corpus->texts(), ElementsAre("one", " two ", "last without an end"));
}

TEST(CorpusTest, AnEmptyFileHasNoTexts) {
  TemporaryFolder folder;
  const auto corpus = Corpus::Open(folder.Write("a.txt", ""));
  ASSERT_TRUE(corpus.ok());
  EXPECT_TRUE(corpus->texts().empty());
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
  EXPECT_EQ(CachedFileDigest(file, cache.path()).value(), Sha256Hex("some text"));

  // Other content under the same size and time: the remembered digest is given, so the file was not read
  // again.
  std::ofstream(file, std::ios::binary | std::ios::in) << "SOME";
  std::filesystem::last_write_time(file, an_hour_ago);
  EXPECT_EQ(CachedFileDigest(file, cache.path()).value(), Sha256Hex("some text"));

  std::filesystem::last_write_time(file, an_hour_ago + std::chrono::seconds(1));
  EXPECT_EQ(CachedFileDigest(file, cache.path()).value(), Sha256Hex("SOME text"));
}

TEST(FileDigestTest, OfAFileThatChangedAMomentAgoIsNotRemembered) {
  TemporaryFolder folder, cache;
  const auto file = folder.Write("a.txt", "some text");
  EXPECT_EQ(CachedFileDigest(file, cache.path()).value(), Sha256Hex("some text"));
  EXPECT_TRUE(std::filesystem::is_empty(cache.path()));
}

TEST(FileDigestTest, ADamagedMemoryIsIgnored) {
  TemporaryFolder folder, cache;
  const auto file = folder.Write("a.txt", "some text");
  std::filesystem::last_write_time(file,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(CachedFileDigest(file, cache.path()).ok());
  for (const auto& entry : std::filesystem::directory_iterator(cache.path()))
    std::filesystem::resize_file(entry.path(), 40);
  EXPECT_EQ(CachedFileDigest(file, cache.path()).value(), Sha256Hex("some text"));
}

TEST(FileDigestTest, AMissingFileIsNotFound) {
  TemporaryFolder folder;
  EXPECT_EQ(CachedFileDigest(folder / "none.txt", folder.path()).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inlier
