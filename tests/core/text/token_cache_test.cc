#include "core/text/token_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/files/file_lock.h"
#include "base/random_stream.h"
#include "core/text/special_tokens.h"
#include "tests/core/data/data_files.h"
#include "tests/core/text/definition_encoder.h"

extern char** environ;

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path kTiny = fs::path(INLIER_TEST_DATA) / "tiny.txt";

struct Opened {
  absl::StatusOr<TokenCache> cache;
  std::map<std::string, int> phases;  // How often each was reported.
  bool made() const { return phases.count("tokenize") != 0; }
};

Opened OpenCache(const fs::path& corpus, const fs::path& folder, uint32_t vocab_size = 600,
                 double fraction = 0.1, int threads = 1) {
  Opened opened{absl::UnknownError(""), {}};
  TextOpenOptions options;
  options.cache_dir = folder;
  options.threads = threads;
  options.progress = [&opened](std::string_view phase, double) { ++opened.phases[std::string(phase)]; };
  opened.cache = TokenCache::OpenOrMake({corpus}, {TrainedBytePair{vocab_size}, fraction}, options);
  if (!opened.cache.ok()) ADD_FAILURE() << opened.cache.status();
  return opened;
}

std::string TextOf(const TokenCache& cache, uint64_t text) {
  const uint64_t begin = cache.text_begins()[text];
  std::vector<int64_t> ids(cache.text_begins()[text + 1] - begin);
  cache.Read(begin, ids);
  return cache.tokenizer().Decode(std::vector<uint32_t>(ids.begin(), ids.end()));
}

// A child process; its output is read after its end.
class Maker {
 public:
  Maker(const fs::path& corpus, const fs::path& folder, const std::string& vocab_size,
        std::string death = "") {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    std::string program = INLIER_TOKEN_CACHE_MAKER, a = corpus.string(), b = folder.string(), c = vocab_size;
    char* argv[] = {program.data(), a.data(), b.data(), c.data(), death.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Maker() { close(output_); }

  // Its exit status (or minus the signal) and what it printed.
  std::pair<int, std::string> Wait() {
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t got; (got = read(output_, buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), got);
    int status = 0;
    waitpid(pid_, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), text};
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

TEST(TokenCacheTest, HoldsEveryTextOfTheCorpus) {
  TemporaryFolder folder;
  const Opened opened = OpenCache(kTiny, folder.path());
  const Corpus corpus = *Corpus::Open({kTiny});
  const TokenCache& cache = *opened.cache;
  ASSERT_EQ(cache.texts(), corpus.texts().size());
  EXPECT_EQ(cache.train_texts(), cache.texts() - std::llround(cache.texts() * 0.1));
  EXPECT_EQ(cache.text_begins().front(), 0u);
  EXPECT_EQ(cache.text_begins().back(), cache.tokens());
  for (uint64_t i = 0; i < cache.texts(); ++i) ASSERT_EQ(TextOf(cache, i), corpus.texts()[i]);
  EXPECT_EQ(cache.tokenizer().size(), 600u);
  for (uint32_t id = 0; id < kOwnSpecialTokens.size(); ++id) {
    EXPECT_EQ(cache.tokenizer().Decode(std::array{id}), kOwnSpecialTokens[id]);
  }
}

// Numbered lines. Those of blocks read on, in any order of the blocks; those by hash hardly ever do.
TEST(TokenCacheTest, BlocksOfTheValidationPartKeepTheOrderOfTheFile) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 6400; ++i) text += std::to_string(10000 + i) + "\n";
  const fs::path file = folder.Write("numbers.txt", text);
  for (const ValidationTexts validation : {ValidationTexts::kBlocks, ValidationTexts::kByHash}) {
    TextOpenOptions options;
    options.cache_dir = folder.path() / "cache";
    const auto cache =
        TokenCache::OpenOrMake(CorpusSource{.path = file}, {TrainedBytePair{300}, 0.1, validation}, options);
    ASSERT_TRUE(cache.ok()) << cache.status();
    const bool blocks = validation == ValidationTexts::kBlocks;
    std::set<int> of_blocks;
    double reads_on = 0;
    const uint64_t count = cache->texts() - cache->train_texts();
    for (uint64_t i = cache->train_texts(); i < cache->texts(); ++i) {
      const int number = std::stoi(TextOf(*cache, i));
      of_blocks.insert((number - 10000) / 16);
      if (i > cache->train_texts()) reads_on += number == std::stoi(TextOf(*cache, i - 1)) + 1;
    }
    EXPECT_NEAR(count, 640, 3 * std::sqrt(640 * (blocks ? 16 : 1)));
    EXPECT_NEAR(reads_on / count, blocks ? 15.0 / 16 : 0, 0.02);
    EXPECT_GT(*of_blocks.rbegin() - *of_blocks.begin(), 350) << "spread over the file";
    EXPECT_EQ(of_blocks.size() * 16 == count, blocks);
    // Training keeps the order of the rest.
    EXPECT_LT(std::stoi(TextOf(*cache, 100)), std::stoi(TextOf(*cache, 101)));
  }
}

TEST(TokenCacheTest, IsMadeOnceAndThenOnlyOpened) {
  TemporaryFolder folder;
  EXPECT_TRUE(OpenCache(kTiny, folder.path()).made());
  const Opened again = OpenCache(kTiny, folder.path());
  EXPECT_TRUE(again.phases.empty());
}

TEST(TokenCacheTest, ThreadsChangeNothing) {
  TemporaryFolder one, four;
  // Over a megabyte, so that there are several blocks.
  std::string text;
  for (int i = 0; i < 20; ++i) text += ReadAll(kTiny);
  const fs::path corpus = one.Write("large.txt", text);
  const Opened first = OpenCache(corpus, one.path(), 500, 0.02, 1);
  const Opened second = OpenCache(corpus, four.path(), 500, 0.02, 4);
  EXPECT_EQ(ReadAll(first.cache->folder() / "tokens.bin"), ReadAll(second.cache->folder() / "tokens.bin"));
  EXPECT_EQ(ReadAll(first.cache->folder() / "vocab.json"), ReadAll(second.cache->folder() / "vocab.json"));
  EXPECT_EQ(TextOf(*second.cache, second.cache->texts() - 1),
            TextOf(*second.cache, second.cache->texts() / 20 - 1));
}

TEST(TokenCacheTest, OtherTextOrSettingsHaveACacheOfTheirOwn) {
  TemporaryFolder folder;
  const std::string digest = OpenCache(kTiny, folder.path()).cache->digest();
  EXPECT_NE(OpenCache(kTiny, folder.path(), 601).cache->digest(), digest);
  EXPECT_NE(OpenCache(kTiny, folder.path(), 600, 0.11).cache->digest(), digest);
  EXPECT_NE(OpenCache(folder.Write("other.txt", ReadAll(kTiny) + "One more."), folder.path()).cache->digest(),
            digest);
  // The same content in another place is the same corpus.
  const Opened copy = OpenCache(folder.Write("copy.txt", ReadAll(kTiny)), folder.path());
  EXPECT_EQ(copy.cache->digest(), digest);
  EXPECT_FALSE(copy.made());
}

TEST(TokenCacheTest, TheVocabularyDoesNotSeeTheValidationPart) {
  TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 90; ++i) text += "common words again and again\n";
  for (int i = 0; i < 10; ++i) text += "qqqqqqqqqqqq\n";
  const Opened opened = OpenCache(folder.Write("a.txt", text), folder.path(), 600, 0.1);
  const uint64_t last = opened.cache->texts() - 1;
  EXPECT_EQ(opened.cache->text_begins()[last + 1] - opened.cache->text_begins()[last], 12u)
      << "one token a letter";
  EXPECT_LE(opened.cache->text_begins()[1], 5u);
}

TEST(TokenCacheTest, LargeVocabulariesAreStoredInFourBytes) {
  TemporaryFolder folder;
  // Enough different words, each twice, for more than 65,536 tokens.
  std::string text;
  for (int copy = 0; copy < 2; ++copy) {
    for (int i = 0; i < 26000; ++i) {
      RandomStream stream(1, "word", i);
      for (int k = 0; k < 8; ++k) text += static_cast<char>('a' + stream.Below(26));
      text += '\n';
    }
  }
  const Opened opened = OpenCache(folder.Write("a.txt", text + "end\n"), folder.path(), 70000, 0.0001);
  ASSERT_GT(opened.cache->tokenizer().size(), 65536u);
  const Corpus corpus = *Corpus::Open({folder / "a.txt"});
  for (uint64_t i = 0; i < opened.cache->texts(); i += 97)
    ASSERT_EQ(TextOf(*opened.cache, i), corpus.texts()[i]);
}

// Damage at any byte, and truncation at any length, is detected, and the cache is made again with the same
// content.
TEST(TokenCacheTest, DamageIsSeenAndRepaired) {
  TemporaryFolder folder;
  const fs::path made = OpenCache(kTiny, folder.path()).cache->folder();
  const std::string tokens = ReadAll(made / "tokens.bin");
  const std::string vocab = ReadAll(made / "vocab.json");
  const auto repaired = [&](const char* what) {
    const Opened again = OpenCache(kTiny, folder.path());
    EXPECT_TRUE(again.made()) << what;
    EXPECT_EQ(ReadAll(made / "tokens.bin"), tokens) << what;
    EXPECT_EQ(ReadAll(made / "vocab.json"), vocab) << what;
  };
  for (const size_t place : {size_t{0}, size_t{9}, size_t{20}, size_t{100}, size_t{185}, size_t{192},
                             tokens.size() / 2, tokens.size() - 1}) {
    std::string damaged = tokens;
    damaged[place] ^= 0x10;
    std::ofstream(made / "tokens.bin", std::ios::binary) << damaged;
    repaired(("byte " + std::to_string(place)).c_str());
  }
  for (const size_t size : {size_t{0}, size_t{100}, size_t{192}, tokens.size() - 8}) {
    fs::resize_file(made / "tokens.bin", size);
    repaired("a short file");
  }
  std::ofstream(made / "tokens.bin", std::ios::binary | std::ios::app) << "more";
  repaired("a long file");
  fs::remove(made / "vocab.json");
  repaired("no vocabulary");
  std::ofstream(made / "merges.txt", std::ios::app) << "a b\n";
  repaired("another vocabulary");
}

TEST(TokenCacheTest, ProcessesThatStartTogetherMakeItOnce) {
  TemporaryFolder folder;
  std::vector<std::unique_ptr<Maker>> makers;
  for (int i = 0; i < 6; ++i) makers.push_back(std::make_unique<Maker>(kTiny, folder.path(), "1500"));
  int made = 0;
  std::string digest;
  for (const auto& maker : makers) {
    const auto [status, output] = maker->Wait();
    EXPECT_EQ(status, 0) << output;
    made += output.find(" made") != std::string::npos;
    if (digest.empty()) digest = output.substr(0, 64);
    EXPECT_EQ(output.substr(0, 64), digest);
  }
  EXPECT_EQ(made, 1);
}

// A maker killed at any moment leaves nothing that another process would take for a cache, and no lock; the
// next maker leaves no other files.
TEST(TokenCacheTest, AMakerThatDiesLeavesNothingHalfMade) {
  TemporaryFolder reference;
  const fs::path whole = OpenCache(kTiny, reference.path(), 1500, 0.02).cache->folder();
  // Killed when it reports for the n-th time, or when a file it writes grows over n bytes.
  for (const char* death : {"report 1", "report 2", "report 15", "report 20", "size 10", "size 1000",
                            "size 12000", "size 20000", "size 60000", "size 85000"}) {
    TemporaryFolder cache;
    const auto [status, output] = Maker(kTiny, cache.path(), "1500", death).Wait();
    ASSERT_LT(status, 0) << death << " did not end it: " << output;
    const Opened opened = OpenCache(kTiny, cache.path(), 1500, 0.02);
    EXPECT_TRUE(opened.made()) << death;
    EXPECT_EQ(opened.phases.count("wait for another process to tokenize"), 0u) << death;
    EXPECT_EQ(ReadAll(opened.cache->folder() / "tokens.bin"), ReadAll(whole / "tokens.bin")) << death;
    int files = 0;
    for (const auto& entry : fs::directory_iterator(opened.cache->folder())) files += entry.is_regular_file();
    EXPECT_EQ(files, 3) << death;
  }
}

// A process that finds the lock taken waits, reports it, and then finds the cache.
TEST(TokenCacheTest, TheSecondProcessWaitsAndReportsIt) {
  TemporaryFolder folder;
  const fs::path made = OpenCache(kTiny, folder.path()).cache->folder();
  const std::string tokens = ReadAll(made / "tokens.bin");
  fs::rename(made / "tokens.bin", made / "aside");
  std::optional<FileLock> lock = *FileLock::Acquire(made.string() + ".lock", nullptr);
  std::vector<std::string> phases;
  TextOpenOptions options;
  options.cache_dir = folder.path();
  options.progress = [&](std::string_view phase, double) {
    phases.emplace_back(phase);
    fs::rename(made / "aside", made / "tokens.bin");  // The other process finishes.
    lock.reset();
  };
  const auto cache = TokenCache::OpenOrMake({kTiny}, {TrainedBytePair{600}, 0.1}, options).value();
  EXPECT_THAT(phases, testing::ElementsAre("wait for another process to tokenize"));
}

TEST(TokenCacheTest, TooFewTextsAreRefusedWithTheReason) {
  TemporaryFolder folder;
  TextOpenOptions options;
  options.cache_dir = folder / "cache";
  const auto cache =
      TokenCache::OpenOrMake({folder.Write("a.txt", "only one\n\n")}, {TrainedBytePair{300}, 0.1}, options);
  EXPECT_EQ(cache.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cache.status().message()),
              HasSubstr("a.txt has 1 non-empty lines; one text a line is needed"));
}

TEST(TokenCacheTest, ACacheFolderThatCannotBeMadeIsNamed) {
  TemporaryFolder folder;
  TextOpenOptions options;
  options.cache_dir = folder.Write("file", "") / "cache";
  const auto cache = TokenCache::OpenOrMake({kTiny}, {TrainedBytePair{300}, 0.1}, options);
  EXPECT_FALSE(cache.ok());
  EXPECT_THAT(std::string(cache.status().message()), HasSubstr((folder / "file").string()));
}

// A published vocabulary stays where it is; the cache is named by its content and made again when that
// changes.
TEST(TokenCacheTest, APublishedVocabularyIsPartOfTheName) {
  TemporaryFolder folder;
  const fs::path golden = fs::path(INLIER_GOLDEN_DEFAULT) / "tokenizers";
  const fs::path vocab = folder / "vocab.txt";
  fs::copy_file(golden / "bert-base-uncased-vocab.txt", vocab);
  TextOpenOptions options;
  options.cache_dir = folder / "cache";
  const auto open = [&](const TokenizerSource& tokenizer) {
    return TokenCache::OpenOrMake({kTiny}, {tokenizer, 0.1}, options).value();
  };
  const TokenCache bert = open(WordPieceFile{vocab});
  const Corpus corpus = *Corpus::Open({kTiny});
  const WordPieceVocabulary vocabulary = *WordPieceVocabulary::Load(vocab);
  DefinitionEncoder encoder(WordPieceDefinition(vocabulary));
  ASSERT_EQ(bert.texts(), corpus.texts().size());
  for (uint64_t i = 0; i < bert.texts(); ++i) {
    const std::vector<uint32_t> ids = encoder.Ids(corpus.texts()[i]);
    std::vector<int64_t> stored(bert.text_begins()[i + 1] - bert.text_begins()[i]);
    bert.Read(bert.text_begins()[i], stored);
    ASSERT_EQ(std::vector<uint32_t>(stored.begin(), stored.end()), ids);
  }
  EXPECT_EQ(open(WordPieceFile{golden / "bert-base-uncased-vocab.txt"}).digest(), bert.digest());
  const TokenCache gpt2 = open(Gpt2Files{golden / "gpt2-vocab.json", golden / "gpt2-merges.txt"});
  EXPECT_NE(gpt2.digest(), bert.digest());
  EXPECT_EQ(TextOf(gpt2, 0), corpus.texts()[0]);

  std::ofstream(vocab, std::ios::app) << "unheardof\n";
  EXPECT_NE(open(WordPieceFile{vocab}).digest(), bert.digest());
  std::ofstream(vocab, std::ios::app) << "unheardof\n";
  const absl::Status damaged = TokenCache::OpenOrMake({kTiny}, {WordPieceFile{vocab}, 0.1}, options).status();
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("vocab.txt:30524: the token of line "));
}

TEST(TrainTextsTest, BothPartsHaveTextsForEveryFraction) {
  EXPECT_EQ(TrainTexts(1000, 0.02), 980u);
  EXPECT_EQ(TrainTexts(2, 0.9), 1u);
  EXPECT_EQ(TrainTexts(10, 1e-9), 9u);
  EXPECT_EQ(TrainTexts(10, 0.9), 1u);
}

}  // namespace
}  // namespace inlier
