// GPT-2's split of text into words, before any merge: contractions, letters, digits, other marks, each with
// at most one space before it, and runs of white space, whose last space belongs to the next word.
//
// The same as the regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// with Unicode's categories, written as a scanner because a regular expression over megabytes takes minutes.
// Bytes that are not UTF-8 count as other marks, so the joined words equal the input.
#ifndef INLIER_CORE_TEXT_ENCODING_PRE_TOKENIZER_H_
#define INLIER_CORE_TEXT_ENCODING_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace inlier {

// The word of `text` at *position, which moves to its end. Empty at the end of the text only.
std::string_view NextWord(std::string_view text, size_t* position);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_PRE_TOKENIZER_H_
