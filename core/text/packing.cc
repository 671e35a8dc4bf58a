#include "core/text/packing.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace inlier {
namespace {

// Number of sequences cut from a group of `tokens` ids.
uint64_t SequencesOf(uint64_t tokens, int64_t sequence_length, ShortGroup short_group) {
  const auto length = static_cast<uint64_t>(sequence_length);
  if (tokens < length) return short_group == ShortGroup::kKeep && tokens > 0 ? 1 : 0;
  return tokens / length;
}

}  // namespace

PackedTexts::PackedTexts(Options options, std::span<const uint64_t> text_begins, ReadIds read)
    : options_(std::move(options)), text_begins_(text_begins), read_(std::move(read)) {
  INLIER_CHECK(options_.sequence_length > head_tokens() && options_.texts_per_group > 0 &&
               !text_begins.empty());
  const uint64_t texts = text_begins_.size() - 1;
  const uint64_t groups = (texts + options_.texts_per_group - 1) / options_.texts_per_group;
  first_sequence_.push_back(0);
  for (uint64_t group = 0; group < groups; ++group) {
    first_sequence_.push_back(first_sequence_.back() + SequencesOf(GroupTokens(group),
                                                                   options_.sequence_length - head_tokens(),
                                                                   options_.short_group));
  }
}

uint64_t PackedTexts::TokensBefore(uint64_t text, uint64_t group_begin) const {
  const uint64_t special = options_.before_text.size() + options_.after_text.size();
  return text_begins_[text] - text_begins_[group_begin] + (text - group_begin) * special;
}

uint64_t PackedTexts::GroupTokens(size_t group) const {
  const uint64_t begin = group * options_.texts_per_group;
  const uint64_t end = std::min<uint64_t>(begin + options_.texts_per_group, text_begins_.size() - 1);
  return TokensBefore(end, begin);
}

size_t PackedTexts::GroupOf(int64_t sequence) const {
  const auto after =
      std::upper_bound(first_sequence_.begin(), first_sequence_.end(), static_cast<uint64_t>(sequence));
  return after - first_sequence_.begin() - 1;
}

int64_t PackedTexts::LengthOf(int64_t sequence) const {
  return std::min<int64_t>(options_.sequence_length,
                           head_tokens() + static_cast<int64_t>(GroupTokens(GroupOf(sequence))));
}

void PackedTexts::Read(int64_t sequence, std::span<int64_t> ids, std::span<uint8_t> special) const {
  INLIER_CHECK(sequence >= 0 && sequence < size());
  INLIER_CHECK(ids.size() == special.size() && ids.size() == static_cast<size_t>(LengthOf(sequence)));
  const uint64_t group = GroupOf(sequence);
  const uint64_t group_begin = group * options_.texts_per_group;
  const uint64_t group_end =
      std::min<uint64_t>(group_begin + options_.texts_per_group, text_begins_.size() - 1);

  // The place of the first token that is read among the group's, and the last text that begins at or before it.
  uint64_t place = (sequence - first_sequence_[group]) * (options_.sequence_length - head_tokens());
  uint64_t text = group_begin;
  for (uint64_t low = group_begin, high = group_end; low < high;) {
    const uint64_t middle = low + (high - low) / 2;
    if (TokensBefore(middle, group_begin) <= place) {
      text = middle;
      low = middle + 1;
    } else {
      high = middle;
    }
  }

  const uint64_t before = options_.before_text.size();
  size_t written = 0;
  if (options_.head.has_value()) {
    ids[0] = *options_.head;
    special[written++] = 1;
  }
  for (; written < ids.size(); ++text) {
    // Where in this text's tokens, special ones counted.
    uint64_t inside = place - TokensBefore(text, group_begin);
    const uint64_t length = text_begins_[text + 1] - text_begins_[text];
    const auto put = [&](int64_t id) {
      ids[written] = id;
      special[written++] = 1;
      ++place;
      ++inside;
    };
    while (inside < before && written < ids.size()) put(options_.before_text[inside]);
    if (inside < before + length && written < ids.size()) {
      const uint64_t count = std::min<uint64_t>(before + length - inside, ids.size() - written);
      read_(text_begins_[text] + inside - before, ids.subspan(written, count));
      std::fill_n(special.begin() + written, count, uint8_t{0});
      written += count;
      place += count;
      inside += count;
    }
    while (inside >= before + length && inside < before + length + options_.after_text.size() &&
           written < ids.size()) {
      put(options_.after_text[inside - before - length]);
    }
  }
}

}  // namespace inlier
