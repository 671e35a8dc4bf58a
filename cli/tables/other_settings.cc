#include "cli/tables/other_settings.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace inlier {
namespace {

using Differences = std::vector<std::string>;

template <typename T>
bool Contains(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

Differences DifferencesOf(const v1::TableCell& cell) {
  return {cell.published_differs_in().begin(), cell.published_differs_in().end()};
}

std::string MarkAt(std::size_t i) { return std::string(1 + i / 26, static_cast<char>('a' + i % 26)); }

}  // namespace

OtherSettings::OtherSettings(const v1::Table& table) {
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) {
      if (!cell.has_published_mean() || cell.published_differs_in_size() == 0) continue;
      const Differences differences = DifferencesOf(cell);
      if (!Contains(lists_, differences)) lists_.push_back(differences);
    }
  }
}

std::string OtherSettings::Mark(const v1::TableCell& cell) const {
  const auto found = std::ranges::find(lists_, DifferencesOf(cell));
  return found == lists_.end() ? "" : MarkAt(static_cast<std::size_t>(found - lists_.begin()));
}

std::string OtherSettings::Note(bool brackets) const {
  if (lists_.empty()) return "";
  Differences common = lists_.front();
  for (const Differences& list : lists_)
    std::erase_if(common, [&](const std::string& one) { return !Contains(list, one); });
  std::string text = absl::StrJoin(common, ", ");
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    Differences more = lists_[i];
    std::erase_if(more, [&](const std::string& one) { return Contains(common, one); });
    if (more.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "^" : "; ^", MarkAt(i), common.empty() ? " " : " also ",
                    absl::StrJoin(more, ", "));
  }
  return absl::StrCat(brackets ? "[ ]^" : "^", MarkAt(0),
                      lists_.size() > 1 ? "..^" + MarkAt(lists_.size() - 1) : "",
                      " published figure of another setting: ", text);
}

}  // namespace inlier
