#include "core/text/token_cache.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/data/text_split.h"
#include "base/digest.h"
#include "base/files/atomic_file.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/log.h"
#include "base/status.h"
#include "core/text/byte_pair_trainer.h"
#include "core/text/special_tokens.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the ids are mapped unconverted");

constexpr char kMagic[8] = {'i', 'n', 'l', 'i', 'e', 'r', 'T', 'K'};
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kDigestLength = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t id_bytes;  // 2 or 4
  uint64_t texts;
  uint64_t train_texts;
  uint64_t tokens;
  uint64_t vocab_size;
  char digest[kDigestLength];             // The folder's name.
  char vocabulary_digest[kDigestLength];  // Of vocab.json, then merges.txt.
  uint64_t payload_checksum;              // Of everything after the header.
  uint64_t header_checksum;               // Of everything before this field.
};
static_assert(sizeof(Header) == 192);

// A checksum against damage, not against malice, at memory speed: words are folded in by multiplication and rotation.
class Checksum {
 public:
  void Update(std::string_view bytes) {
    length_ += bytes.size();
    while (!bytes.empty()) {
      if (pending_ == 0 && bytes.size() >= sizeof(word_)) {
        std::memcpy(&word_, bytes.data(), sizeof(word_));
        bytes.remove_prefix(sizeof(word_));
        Fold();
        continue;
      }
      reinterpret_cast<char*>(&word_)[pending_++] = bytes.front();
      bytes.remove_prefix(1);
      if (pending_ == sizeof(word_)) Fold();
    }
  }

  uint64_t Finish() {
    if (pending_ > 0) Fold();
    word_ = length_;
    Fold();
    return state_ ^ (state_ >> 32);
  }

 private:
  void Fold() {
    state_ = std::rotl(state_ ^ (word_ * 0x9e3779b97f4a7c15), 29) * 0xbf58476d1ce4e5b9 + 0x94d049bb133111eb;
    word_ = 0;
    pending_ = 0;
  }

  uint64_t state_ = 0;
  uint64_t word_ = 0;
  size_t pending_ = 0;
  uint64_t length_ = 0;
};

uint64_t ChecksumOf(std::string_view bytes) {
  Checksum checksum;
  checksum.Update(bytes);
  return checksum.Finish();
}

template <typename T>
std::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

uint64_t PaddedIdBytes(uint64_t tokens, uint32_t id_bytes) { return (tokens * id_bytes + 7) / 8 * 8; }

// `content` and `split` identify the texts and the training part.
absl::StatusOr<std::string> DigestOf(const std::string& content, const TokenizerSource& tokenizer,
                                     const std::string& split) {
  ASSIGN_OR_RETURN(const std::string tokenizer_key, KeyOf(tokenizer));
  std::string key =
      absl::StrFormat("inlier token cache %d\n%s\n%s\n%s\n", kFormatVersion, content, tokenizer_key, split);
  if (std::holds_alternative<TrainedBytePair>(tokenizer)) {
    for (const std::string_view token : kOwnSpecialTokens) absl::StrAppend(&key, std::string(token), "\n");
  }
  return Sha256Hex(key);
}

std::string ContentDigest(const std::vector<std::string_view>& texts) {
  Sha256 sha;
  for (const std::string_view text : texts) {
    sha.Update(absl::StrCat(text.size(), "\n"));
    sha.Update(text);
  }
  return sha.HexDigest();
}

void Report(const TextOpenOptions& options, std::string_view phase, double fraction) {
  if (options.progress) options.progress(phase, fraction);
}

// Tokenises texts in blocks, `threads` of them at a time, and writes them in their order.
class TokenFileMaker {
 public:
  TokenFileMaker(const Tokenizer& tokenizer, int threads, AtomicFile& writer)
      : tokenizer_(tokenizer), writer_(writer), blocks_(threads) {
    id_bytes_ = tokenizer.size() <= 65536 ? 2 : 4;
    for (int i = 0; i < threads; ++i) encoders_.push_back(tokenizer.MakeEncoder());
    begins_.push_back(0);
  }

  absl::Status Write(const std::vector<std::string_view>& texts, const TextOpenOptions& options) {
    for (size_t next = 0; next < texts.size();) {
      Report(options, "tokenize", static_cast<double>(next) / texts.size());
      std::vector<std::thread> workers;
      for (size_t worker = 0; worker < blocks_.size(); ++worker) {
        const size_t begin = next;
        for (size_t bytes = 0; next < texts.size() && bytes < kBlockBytes; ++next)
          bytes += texts[next].size();
        workers.emplace_back(
            [this, &texts, worker, begin, end = next] { Encode(texts, begin, end, worker); });
      }
      for (std::thread& worker : workers) worker.join();
      for (const Block& block : blocks_) RETURN_IF_ERROR(Append(block));
    }
    const uint64_t tokens = begins_.back();
    RETURN_IF_ERROR(AppendBytes(std::string(PaddedIdBytes(tokens, id_bytes_) - tokens * id_bytes_, '\0')));
    return AppendBytes(BytesOf(begins_));
  }

  // The caller fills in the digests.
  Header MakeHeader() {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.version = kFormatVersion;
    header.id_bytes = id_bytes_;
    header.texts = begins_.size() - 1;
    header.tokens = begins_.back();
    header.vocab_size = tokenizer_.size();
    header.payload_checksum = checksum_.Finish();
    return header;
  }

 private:
  static constexpr size_t kBlockBytes = 1 << 20;

  struct Block {
    std::vector<uint32_t> ids;
    std::vector<uint64_t> lengths;  // Of each text.
  };

  void Encode(const std::vector<std::string_view>& texts, size_t begin, size_t end, size_t worker) {
    Block& block = blocks_[worker];
    block.ids.clear();
    block.lengths.clear();
    for (size_t i = begin; i < end; ++i) {
      const size_t before = block.ids.size();
      encoders_[worker]->Encode(texts[i], &block.ids);
      block.lengths.push_back(block.ids.size() - before);
    }
  }

  absl::Status Append(const Block& block) {
    for (const uint64_t length : block.lengths) begins_.push_back(begins_.back() + length);
    if (id_bytes_ == 4) return AppendBytes(BytesOf(block.ids));
    return AppendBytes(BytesOf(std::vector<uint16_t>(block.ids.begin(), block.ids.end())));
  }

  absl::Status AppendBytes(std::string_view bytes) {
    checksum_.Update(bytes);
    return writer_.Append(bytes);
  }

  const Tokenizer& tokenizer_;
  AtomicFile& writer_;
  std::vector<Block> blocks_;  // One a thread.
  std::vector<std::unique_ptr<TextEncoder>> encoders_;
  std::vector<uint64_t> begins_;
  uint32_t id_bytes_ = 0;
  Checksum checksum_;
};

absl::Status TrainVocabulary(std::span<const std::string_view> texts, const TrainedBytePair& settings,
                             const TextOpenOptions& options, const fs::path& folder) {
  Report(options, "train vocabulary", 0);
  BytePairTrainerOptions training;
  training.vocab_size = settings.vocab_size;
  training.special_tokens.assign(kOwnSpecialTokens.begin(), kOwnSpecialTokens.end());
  training.threads = options.threads;
  training.progress = [&options](double fraction) { Report(options, "train vocabulary", fraction); };
  const BytePairVocabulary vocabulary = TrainBytePair(texts, training);
  RETURN_IF_ERROR(WriteFileAtomically(folder / "vocab.json", vocabulary.VocabJson()));
  return WriteFileAtomically(folder / "merges.txt", vocabulary.MergesTxt());
}

absl::Status MakeFiles(const PartedTexts& parted, const TokenizerSource& source,
                       const TextOpenOptions& options, const fs::path& folder, const std::string& digest) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);  // Left by a process that died.
  RETURN_IF_ERROR(MakeWritableFolder(folder));
  if (const auto* trained = std::get_if<TrainedBytePair>(&source)) {
    RETURN_IF_ERROR(
        TrainVocabulary(std::span(parted.texts).first(parted.train_texts), *trained, options, folder));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, LoadTokenizer(source, folder));

  AtomicFile writer(folder / "tokens.bin");
  RETURN_IF_ERROR(writer.Append(std::string(sizeof(Header), '\0')));
  TokenFileMaker maker(*tokenizer, options.threads, writer);
  RETURN_IF_ERROR(maker.Write(parted.texts, options));
  Header header = maker.MakeHeader();
  header.train_texts = parted.train_texts;
  ASSIGN_OR_RETURN(const std::string vocabulary_digest, VocabularyDigest(source, folder));
  std::memcpy(header.digest, digest.data(), kDigestLength);
  std::memcpy(header.vocabulary_digest, vocabulary_digest.data(), kDigestLength);
  header.header_checksum =
      ChecksumOf({reinterpret_cast<const char*>(&header), offsetof(Header, header_checksum)});
  RETURN_IF_ERROR(writer.WriteAt(0, {reinterpret_cast<const char*>(&header), sizeof(header)}));
  RETURN_IF_ERROR(writer.Commit());
  Report(options, "tokenize", 1);
  return absl::OkStatus();
}

std::string SplitKey(const TokenCacheSettings& settings) {
  constexpr const char* kOf[] = {"", " by hash", " blocks"};  // ValidationTexts.
  return absl::StrFormat("validation %.17g%s", settings.validation_fraction,
                         kOf[static_cast<int>(settings.validation)]);
}

// Consecutive texts that are on one side.
size_t TextsPerBlock(const Corpus& corpus, ValidationTexts validation) {
  if (validation != ValidationTexts::kBlocks || corpus.HasDocuments()) return 1;
  return std::clamp<size_t>(corpus.texts().size() / 200, 1, 16);
}

// The texts of a corpus in their parts. REQUIRES: two texts.
absl::StatusOr<PartedTexts> Parted(const CorpusSource& source, const Corpus& corpus,
                                   const TokenCacheSettings& settings) {
  const std::vector<std::string_view>& texts = corpus.texts();
  if (settings.validation == ValidationTexts::kLast)
    return PartedTexts{texts, TrainTexts(texts.size(), settings.validation_fraction)};
  const size_t block = TextsPerBlock(corpus, settings.validation);
  const auto block_of = [&](size_t number) {
    const size_t first = number * block;
    return std::span(texts).subspan(first, std::min(block, texts.size() - first));
  };
  std::vector<double> hashes;
  for (size_t first = 0; first < texts.size(); first += block) {
    std::string joined;
    for (const std::string_view text : block_of(first / block)) joined.append(text);
    hashes.push_back(HashOfText(joined));
  }
  if (std::adjacent_find(hashes.begin(), hashes.end(), std::not_equal_to<>()) == hashes.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.path.string(), " has ", texts.size(),
        " texts that are all equal, and a hash puts equal texts on one side; use different texts, or "
        "data.text.validation: LAST"));
  }
  const TextSplit split = SplitByHash(hashes, FractionWithBothParts(hashes, settings.validation_fraction));
  PartedTexts parted;
  parted.texts.reserve(texts.size());
  for (size_t i = 0; i < split.order.size(); ++i) {
    if (i == split.train) parted.train_texts = parted.texts.size();
    const auto of_block = block_of(split.order[i]);
    parted.texts.insert(parted.texts.end(), of_block.begin(), of_block.end());
  }
  return parted;
}

absl::Status MakeOfCorpus(const CorpusSource& source, const std::string& corpus_digest,
                          const TokenCacheSettings& settings, const TextOpenOptions& options,
                          const fs::path& folder, const std::string& digest) {
  ASSIGN_OR_RETURN(const Corpus corpus, Corpus::Open(source));
  if (corpus.ContentDigest() != corpus_digest) {
    return absl::UnavailableError(
        absl::StrCat(source.path.string(), " changed while it was read; try again when it is complete"));
  }
  RETURN_IF_ERROR(corpus.CheckTexts());
  ASSIGN_OR_RETURN(const PartedTexts parted, Parted(source, corpus, settings));
  return MakeFiles(parted, settings.tokenizer, options, folder, digest);
}

}  // namespace

uint64_t TrainTexts(uint64_t texts, double validation_fraction) {
  INLIER_CHECK(texts >= 2);
  const auto validation =
      static_cast<uint64_t>(std::llround(static_cast<double>(texts) * validation_fraction));
  return texts - std::clamp<uint64_t>(validation, 1, texts - 1);
}

absl::StatusOr<TokenCache> TokenCache::OpenExisting(const fs::path& folder, const std::string& digest,
                                                    const TokenizerSource& tokenizer) {
  const fs::path path = folder / "tokens.bin";
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(path.string());
  const auto damaged = [&path](std::string_view what) {
    return absl::DataLossError(absl::StrCat(path.string(), ": ", std::string(what)));
  };
  TokenCache cache;
  ASSIGN_OR_RETURN(cache.file_, MappedFile::Open(path));
  const std::string_view bytes = cache.file_.bytes();
  Header header;
  if (bytes.size() < sizeof(header)) return damaged("shorter than its header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != kFormatVersion) {
    return damaged("not a token cache of this version");
  }
  if (header.header_checksum != ChecksumOf(bytes.substr(0, offsetof(Header, header_checksum)))) {
    return damaged("its header is damaged");
  }
  const uint64_t id_bytes = PaddedIdBytes(header.tokens, header.id_bytes);
  if (bytes.size() != sizeof(header) + id_bytes + (header.texts + 1) * sizeof(uint64_t)) {
    return damaged("its length differs from its header's");
  }
  if (header.payload_checksum != ChecksumOf(bytes.substr(sizeof(header))))
    return damaged("its checksum does not fit");
  if (std::string_view(header.digest, kDigestLength) != digest)
    return damaged("made from other texts or settings");
  const absl::StatusOr<std::string> vocabulary_digest = VocabularyDigest(tokenizer, folder);
  if (!vocabulary_digest.ok() ||
      *vocabulary_digest != std::string_view(header.vocabulary_digest, kDigestLength)) {
    return damaged("its vocabulary is missing or was changed");
  }

  ASSIGN_OR_RETURN(cache.tokenizer_, LoadTokenizer(tokenizer, folder));
  cache.digest_ = digest;
  cache.folder_ = folder;
  cache.id_bytes_ = header.id_bytes;
  cache.train_texts_ = header.train_texts;
  cache.tokens_ = header.tokens;
  cache.ids_ = bytes.data() + sizeof(header);
  cache.text_begins_ = {reinterpret_cast<const uint64_t*>(cache.ids_ + id_bytes), header.texts + 1};
  return cache;
}

absl::StatusOr<TokenCache> TokenCache::OpenOrMakeFolder(const std::string& digest,
                                                        const TokenizerSource& tokenizer,
                                                        const TextOpenOptions& options, const Make& make) {
  const fs::path folder = options.cache_dir / absl::StrCat("text-", digest.substr(0, 16));

  absl::StatusOr<TokenCache> cache = OpenExisting(folder, digest, tokenizer);
  if (cache.ok()) return cache;

  constexpr mode_t kShared = 0666;  // The users of a group may share the cache.
  const auto wait = [&options] { Report(options, "wait for another process to tokenize", 0); };
  ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(folder.string() + ".lock", wait, kShared));
  // The process that held the lock may have made it.
  cache = OpenExisting(folder, digest, tokenizer);
  if (cache.ok()) return cache;
  if (!absl::IsNotFound(cache.status())) {
    spdlog::warn("token_cache_remade reason=\"{}\"", std::string(cache.status().message()));
  }
  RETURN_IF_ERROR(make(folder));
  return OpenExisting(folder, digest, tokenizer);
}

absl::StatusOr<TokenCache> TokenCache::OpenOrMake(const CorpusSource& source,
                                                  const TokenCacheSettings& settings,
                                                  const TextOpenOptions& options) {
  INLIER_CHECK(options.threads >= 1);
  RETURN_IF_ERROR(MakeWritableFolder(options.cache_dir));
  ASSIGN_OR_RETURN(const std::string corpus_digest,
                   CachedDigest(source, options.cache_dir, options.digest_progress));
  ASSIGN_OR_RETURN(const std::string digest,
                   DigestOf("corpus " + corpus_digest, settings.tokenizer, SplitKey(settings)));
  return OpenOrMakeFolder(digest, settings.tokenizer, options, [&](const fs::path& folder) {
    return MakeOfCorpus(source, corpus_digest, settings, options, folder, digest);
  });
}

absl::StatusOr<TokenCache> TokenCache::OpenOrMake(const PartedTexts& texts, const TokenizerSource& tokenizer,
                                                  const TextOpenOptions& options) {
  INLIER_CHECK(options.threads >= 1);
  INLIER_CHECK(texts.train_texts >= 1 && texts.train_texts <= texts.texts.size());
  RETURN_IF_ERROR(MakeWritableFolder(options.cache_dir));
  ASSIGN_OR_RETURN(const std::string digest, DigestOf("texts " + ContentDigest(texts.texts), tokenizer,
                                                      absl::StrCat("training ", texts.train_texts)));
  return OpenOrMakeFolder(digest, tokenizer, options, [&](const fs::path& folder) {
    return MakeFiles(texts, tokenizer, options, folder, digest);
  });
}

void TokenCache::Read(uint64_t begin, std::span<int64_t> ids) const {
  INLIER_CHECK(begin + ids.size() <= tokens_);
  const auto copy = [&](const auto* from) { std::copy_n(from + begin, ids.size(), ids.begin()); };
  if (id_bytes_ == 2) {
    copy(reinterpret_cast<const uint16_t*>(ids_));
  } else {
    copy(reinterpret_cast<const uint32_t*>(ids_));
  }
}

}  // namespace inlier
