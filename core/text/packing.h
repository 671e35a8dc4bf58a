// From texts to sequences of T tokens: texts are taken in groups of 1000, all ids of a group are joined, cut
// every T tokens, and the rest is dropped. Texts in one sequence attend to each other, as in the reference.
// A group of fewer than T tokens is one short sequence for MLM and dropped for CLM.
//
// With a head, which the reference does not have, every sequence is one special token and T - 1 ids of the
// joined texts, cut every T - 1; a text that begins there has its own special tokens behind it.
#ifndef INLIER_CORE_TEXT_PACKING_H_
#define INLIER_CORE_TEXT_PACKING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace inlier {

inline constexpr int64_t kTextsPerGroup = 1000;

enum class ShortGroup { kKeep, kDrop };

// As the reference's group_texts over texts whose ids are consecutive in memory, without copying them: sequences are computed
// on demand, with each text's special tokens around it.
//
// Thread safety: immutable; the spans must outlive it.
class PackedTexts {
 public:
  struct Options {
    int64_t sequence_length = 0;
    ShortGroup short_group = ShortGroup::kDrop;
    std::vector<int64_t> before_text;  // Special ids put before every text,
    std::vector<int64_t> after_text;   // and after it.
    std::optional<int64_t> head;       // The first id of every sequence. REQUIRES: sequence_length > 1.
    int64_t texts_per_group = kTextsPerGroup;
  };

  // Text i of these has the ids [text_begins[i], text_begins[i + 1]); text_begins has one entry more than
  // there are texts. `read` copies ids of the joined texts: ids.size() of them from `begin` on.
  using ReadIds = std::function<void(uint64_t begin, std::span<int64_t> ids)>;
  PackedTexts(Options options, std::span<const uint64_t> text_begins, ReadIds read);

  int64_t size() const { return static_cast<int64_t>(first_sequence_.back()); }

  // T, or less for the one sequence of a short group that is kept.
  int64_t LengthOf(int64_t sequence) const;

  // Writes the ids of a sequence, and 1 for each special token. Both spans have LengthOf(sequence)
  // entries. REQUIRES: 0 <= sequence < size().
  void Read(int64_t sequence, std::span<int64_t> ids, std::span<uint8_t> special) const;

 private:
  int64_t head_tokens() const { return options_.head.has_value() ? 1 : 0; }
  size_t GroupOf(int64_t sequence) const;
  uint64_t GroupTokens(size_t group) const;
  uint64_t TokensBefore(uint64_t text, uint64_t group_begin) const;

  Options options_;
  std::span<const uint64_t> text_begins_;
  ReadIds read_;
  std::vector<uint64_t> first_sequence_;  // Of each group; then the number of all.
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_PACKING_H_
