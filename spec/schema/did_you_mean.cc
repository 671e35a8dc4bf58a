#include "spec/schema/did_you_mean.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr std::size_t kListedMax = 14;
constexpr std::size_t kWordMax = 200;  // A longer word is not a typing mistake.

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit || std::max(a.size(), b.size()) > kWordMax) return limit + 1;
  const auto same = [](char x, char y) { return absl::ascii_tolower(x) == absl::ascii_tolower(y); };
  // Rows i-2, i-1 and i of the usual table.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  // A number is not a misspelling of another.
  std::size_t limit = ParseNumber(word) || word.size() < 3 ? 0
                      : word.size() == 3                   ? 1
                                                           : std::clamp<std::size_t>(word.size() / 3, 2, 4);
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(word, candidate, limit);
    if (distance > limit) continue;
    nearest = candidate;
    if (distance == 0) break;
    limit = distance - 1;
  }
  if (nearest.empty() && word.size() >= 3) {
    const auto it =
        std::ranges::find_if(known, [word](const std::string& one) { return one.starts_with(word); });
    if (it != known.end()) nearest = *it;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
  if (known.empty() || known.size() > kListedMax) return "";
  return "; known: " + absl::StrJoin(known, ", ");
}

}  // namespace inlier
