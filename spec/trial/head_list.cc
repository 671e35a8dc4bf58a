#include "spec/trial/head_list.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace inlier {

absl::StatusOr<HeadList> ParseHeads(std::string_view text) {
  HeadList heads;
  for (const std::string& word :
       std::vector<std::string>(absl::StrSplit(std::string(text), ' ', absl::SkipEmpty()))) {
    const std::vector<std::string> parts = absl::StrSplit(word, '.');
    std::pair<std::uint32_t, std::uint32_t> head;
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &head.first) ||
        !absl::SimpleAtoi(parts[1], &head.second))
      return absl::InvalidArgumentError(absl::StrCat(
          "'", word, "' is no head: write layer.head from 0, with spaces between, such as \"0.1 3.7\""));
    if (!heads.insert(head).second)
      return absl::InvalidArgumentError(absl::StrCat("'", word, "' is there twice"));
  }
  return heads;
}

}  // namespace inlier
