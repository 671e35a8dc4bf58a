// "did you mean": the known word nearest to an unknown one.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SCHEMA_DID_YOU_MEAN_H_
#define INLIER_SPEC_SCHEMA_DID_YOU_MEAN_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

// Edits (insert, delete, replace, swap neighbours) between two words, ignoring case; at most `limit + 1`.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit);

// The nearest of `known` within a third of the word's length (at most 4 edits; none for a number or two
// letters), else the first that begins with the word; empty when there is none. The earlier one wins.
std::string Nearest(std::string_view word, const std::vector<std::string>& known);

// `; did you mean "x"?`, or else `; known: a, b, c` when there are at most 12, or else nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_DID_YOU_MEAN_H_
