// GPT-2's cut of text into words, before any merge: contractions, letters, digits, other marks, each with at
// most one space before it, and runs of white space, of which the last space goes to the word that follows.
//
// The same as the regular expression 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ with Unicode's categories, written as a scanner because a regular
// expression over megabytes takes minutes. Bytes that are not UTF-8 count as other marks, so words joined
// give back any input exactly.
#ifndef INLIER_CORE_DATA_PRE_TOKENIZER_H_
#define INLIER_CORE_DATA_PRE_TOKENIZER_H_

#include <cstddef>
#include <string_view>

namespace inlier {

// The word of `text` that begins at *position, which moves to its end. Empty at the end of the text only.
std::string_view NextWord(std::string_view text, size_t* position);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_PRE_TOKENIZER_H_
