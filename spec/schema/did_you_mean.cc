#include "spec/schema/did_you_mean.h"

#include <algorithm>

#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr std::size_t kListedMax = 12;
constexpr std::size_t kWordMax = 200;  // A longer word is no typing mistake.

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit || std::max(a.size(), b.size()) > kWordMax) return limit + 1;
  // Rows i-2, i-1 and i of the usual table.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  // One number is no misspelling of another.
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
    const auto begins = [word](const std::string& candidate) {
      return candidate.compare(0, word.size(), word) == 0;
    };
    const auto it = std::find_if(known.begin(), known.end(), begins);
    if (it != known.end()) nearest = *it;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
  if (known.empty() || known.size() > kListedMax) return "";
  std::string text = "; known: ";
  for (std::size_t i = 0; i < known.size(); ++i) text += (i == 0 ? "" : ", ") + known[i];
  return text;
}

}  // namespace inlier
