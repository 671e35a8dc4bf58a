#include "core/text/byte_pair_trainer.h"

#include <algorithm>
#include <queue>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "core/text/encoding/pre_tokenizer.h"

namespace inlier {
namespace {

using WordCounts = absl::flat_hash_map<absl::string_view, int64_t>;

// Every word of the texts with its count, in the order of their bytes.
std::vector<std::pair<absl::string_view, int64_t>> CountWords(std::span<const std::string_view> texts,
                                                              int threads) {
  std::vector<WordCounts> counts(threads);
  std::vector<std::thread> workers;
  for (int worker = 0; worker < threads; ++worker) {
    workers.emplace_back([&, worker] {
      const size_t begin = texts.size() * worker / threads;
      const size_t end = texts.size() * (worker + 1) / threads;
      for (const std::string_view text : texts.subspan(begin, end - begin)) {
        size_t position = 0;
        for (auto word = NextWord(text, &position); !word.empty(); word = NextWord(text, &position)) {
          ++counts[worker][absl::string_view(word.data(), word.size())];
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (int worker = 1; worker < threads; ++worker) {
    for (const auto& [word, count] : counts[worker]) counts[0][word] += count;
  }
  std::vector<std::pair<absl::string_view, int64_t>> sorted(counts[0].begin(), counts[0].end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

using Pair = uint64_t;  // Left id in the upper half, right id in the lower: ordered as the pair is.

Pair MakePair(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

// The words as tokens, with the count and places of each pair of neighbours.
class PairTable {
 public:
  PairTable(const std::vector<std::pair<absl::string_view, int64_t>>& words, uint32_t first_byte_id) {
    begin_.push_back(0);
    for (const auto& [word, count] : words) {
      for (const char byte : word) tokens_.push_back(first_byte_id + static_cast<uint8_t>(byte));
      begin_.push_back(tokens_.size());
      length_.push_back(static_cast<uint32_t>(word.size()));
      count_.push_back(count);
    }
    for (uint32_t word = 0; word < length_.size(); ++word) {
      for (size_t i = begin_[word]; i + 1 < begin_[word + 1]; ++i) {
        Change(MakePair(tokens_[i], tokens_[i + 1]), word, count_[word]);
      }
    }
    for (const auto& [pair, entry] : pairs_) queue_.push({entry.count, pair});
    changed_.clear();
  }

  struct Candidate {
    int64_t count;
    Pair pair;
    // The most frequent first, then the smallest ids.
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  // Takes the best pair out of the queue. A count of 0 when the queue is empty.
  Candidate TakeBest() {
    while (!queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const auto entry = pairs_.find(best.pair);
      const int64_t count = entry == pairs_.end() ? 0 : entry->second.count;
      if (count == best.count) return best;
      if (count > 0) queue_.push({count, best.pair});  // Its count has fallen since it was queued.
    }
    return {0, 0};
  }

  // Replaces each occurrence of the pair by `joined`, from left to right.
  void Merge(Pair pair, uint32_t joined) {
    const auto entry = pairs_.find(pair);
    const std::vector<uint32_t> words = std::move(entry->second.words);
    for (const uint32_t word : words) MergeInWord(word, pair, joined);
    pairs_.erase(pair);
    for (const Pair changed : changed_) {
      const auto found = pairs_.find(changed);
      if (found != pairs_.end() && found->second.count > 0) queue_.push({found->second.count, changed});
    }
    changed_.clear();
  }

 private:
  struct Entry {
    int64_t count = 0;
    std::vector<uint32_t> words;  // Words with the pair; some may have lost it.
  };

  void Change(Pair pair, uint32_t word, int64_t by) {
    Entry& entry = pairs_[pair];
    entry.count += by;
    if (by > 0) {
      if (entry.words.empty() || entry.words.back() != word) entry.words.push_back(word);
      changed_.insert(pair);
    }
  }

  void MergeInWord(uint32_t word, Pair pair, uint32_t joined) {
    uint32_t* tokens = tokens_.data() + begin_[word];
    const uint32_t length = length_[word];
    const int64_t count = count_[word];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < length; ++kept) {
      if (i + 1 == length || MakePair(tokens[i], tokens[i + 1]) != pair) {
        tokens[kept] = tokens[i++];
        continue;
      }
      // The word is now tokens[0, kept) and, from i on, its unread rest.
      if (kept > 0) {
        Change(MakePair(tokens[kept - 1], tokens[i]), word, -count);
        Change(MakePair(tokens[kept - 1], joined), word, count);
      }
      if (i + 2 < length) {
        Change(MakePair(tokens[i + 1], tokens[i + 2]), word, -count);
        Change(MakePair(joined, tokens[i + 2]), word, count);
      }
      tokens[kept] = joined;
      i += 2;
    }
    length_[word] = kept;
  }

  std::vector<uint32_t> tokens_;  // Of all words; word w begins at begin_[w] and has length_[w] of them.
  std::vector<size_t> begin_;
  std::vector<uint32_t> length_;
  std::vector<int64_t> count_;
  absl::flat_hash_map<Pair, Entry> pairs_;
  std::priority_queue<Candidate> queue_;  // Counts may be out of date, but never too small.
  absl::flat_hash_set<Pair> changed_;     // Pairs that became more frequent since they were queued.
};

}  // namespace

BytePairVocabulary TrainBytePair(std::span<const std::string_view> texts,
                                 const BytePairTrainerOptions& options) {
  const auto first_byte_id = static_cast<uint32_t>(options.special_tokens.size());
  INLIER_CHECK(options.vocab_size >= first_byte_id + 256);
  INLIER_CHECK(options.threads >= 1);

  std::vector<std::string> bytes_of(first_byte_id);
  for (int byte = 0; byte < 256; ++byte) bytes_of.emplace_back(1, static_cast<char>(byte));
  // Bytes that a token spells already. Two ways to join the same bytes would give one spelling two ids, so
  // the second is skipped.
  absl::flat_hash_set<std::string> taken(options.special_tokens.begin(), options.special_tokens.end());

  PairTable table(CountWords(texts, options.threads), first_byte_id);
  std::vector<BytePairVocabulary::Merge> merges;
  while (bytes_of.size() < options.vocab_size) {
    const PairTable::Candidate best = table.TakeBest();
    if (best.count < 2) break;
    const auto left = static_cast<uint32_t>(best.pair >> 32);
    const auto right = static_cast<uint32_t>(best.pair);
    std::string bytes = bytes_of[left] + bytes_of[right];
    if (!taken.insert(bytes).second) continue;
    table.Merge(best.pair, static_cast<uint32_t>(bytes_of.size()));
    merges.emplace_back(left, right);
    bytes_of.push_back(std::move(bytes));
    if (options.progress && merges.size() % 64 == 0) {
      options.progress(static_cast<double>(bytes_of.size()) / options.vocab_size);
    }
  }
  auto vocabulary = BytePairVocabulary::FromMerges(options.special_tokens, merges);
  INLIER_CHECK(vocabulary.ok());
  return *std::move(vocabulary);
}

}  // namespace inlier
