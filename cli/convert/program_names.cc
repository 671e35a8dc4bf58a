#include "cli/convert/program_names.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace inlier {
namespace {

constexpr std::size_t kSweepNameBytes = 90, kWordBytes = 60;

// Runs of other characters become one `filler`; none is at an end.
std::string Replaced(std::string_view text, std::string_view allowed, char filler) {
  std::string made;
  for (const char c : text) {
    const bool kept = absl::ascii_isalnum(c) || allowed.find(c) != std::string_view::npos;
    if (kept) {
      made += c;
    } else if (!made.empty() && made.back() != filler) {
      made += filler;
    }
  }
  while (!made.empty() && made.back() == filler) made.pop_back();
  return made;
}

// From the first letter on.
std::string FromLetter(const std::string& text) {
  const auto letter = std::ranges::find_if(text, [](char c) { return absl::ascii_isalpha(c); });
  return std::string(letter, text.end()).substr(0, kWordBytes);
}

}  // namespace

std::string SweepNameOf(std::string_view text) {
  std::string name = Replaced(text, "._-", '-').substr(0, kSweepNameBytes);
  name.erase(0, std::min(name.find_first_not_of("-."), name.size()));
  const std::size_t dash = std::min(name.find('-'), name.size());
  const std::string before = name.substr(0, dash);
  return before == "s" || before == "t" || before == "st" ? "sweep-" + name : name;
}

std::string ProgramNameOf(std::string_view path) {
  return FromLetter(Replaced(std::filesystem::path(path).stem().string(), "_-", '_'));
}

std::string WordOf(std::string_view text) {
  const std::string word = Replaced(text, "_", '_');
  const std::string from_letter = FromLetter(word);
  // "1x" and "_": what is before the first letter is kept where nothing else would be.
  if (!word.empty() && absl::ascii_isalpha(word[0])) return from_letter;
  return absl::StrCat("p", word.starts_with('_') || word.empty() ? "" : "_", word).substr(0, kWordBytes);
}

std::vector<std::string> ParameterNames(const std::vector<std::string>& wished) {
  std::vector<std::string> names;
  std::set<std::string> taken, groups;
  for (const std::string& wish : wished) {
    std::string name;
    for (const auto word : absl::StrSplit(wish, '.')) {
      if (!name.empty()) groups.insert(name);
      absl::StrAppend(&name, name.empty() ? "" : ".", WordOf(std::string_view(word.data(), word.size())));
    }
    names.push_back(name);
  }
  for (std::string& name : names) {
    if (groups.contains(name)) name += "_name";
    const std::string first = name;
    for (int i = 2; groups.contains(name) || !taken.insert(name).second; ++i)
      name = absl::StrCat(first, "_", i);
  }
  return names;
}

}  // namespace inlier
