// BERT's normalization of text, and its split into words, before any vocabulary lookup.
#ifndef INLIER_CORE_TEXT_ENCODING_BERT_WORDS_H_
#define INLIER_CORE_TEXT_ENCODING_BERT_WORDS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

// The settings of `tokenizers`' BertNormalizer; the defaults are those of bert-base-uncased.
struct BertNormalization {
  // Control characters, U+0000 and U+FFFD (also as the replacement of bytes that are not UTF-8) are dropped, white
  // space of every kind becomes a space.
  bool clean_text = true;
  bool split_ideographs = true;  // Spaces around every CJK ideograph.
  bool strip_accents = true;     // NFD, then marks on another letter (category Mn) dropped.
  bool lowercase = true;
};

std::string BertNormalize(std::string_view text, const BertNormalization& settings);

// Iterates over the words of a text: it is normalized, then white space separates words and every punctuation character
// is one. The text must outlive it.
class BertWords {
 public:
  explicit BertWords(std::string_view text, const BertNormalization& settings = {})
      : settings_(settings), text_(text) {}

  // Starts another text, keeping the allocated memory.
  void Reset(std::string_view text);

  // The next word, in UTF-8; empty at the end of the text only. Valid until the next call.
  std::string_view Next() {
    while (next_word_ == word_ends_.size()) {
      if (!CutNextChunk()) return {};
    }
    const size_t begin = next_word_ == 0 ? 0 : word_ends_[next_word_ - 1];
    const size_t end = word_ends_[next_word_++];
    return std::string_view(words_).substr(begin, end - begin);
  }

 private:
  // A chunk is the text between two ASCII spaces: its words do not depend on other chunks.
  bool CutNextChunk();
  void BeginChunk();
  void CutAscii(std::string_view chunk);
  void CutUnicode(std::string_view chunk);
  void EndWord();

  const BertNormalization settings_;
  std::string_view text_;
  size_t position_ = 0;
  std::string words_;              // Of the chunk, joined.
  std::vector<size_t> word_ends_;  // In words_; no word is empty.
  size_t next_word_ = 0;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_BERT_WORDS_H_
