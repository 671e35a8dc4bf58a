#include "core/text/encoding/word_splitter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "core/text/encoding/byte_alphabet.h"
#include "core/text/encoding/json_fields.h"
#include "core/text/encoding/pre_tokenizer.h"
#include "core/text/encoding/token_pattern.h"
#include "core/text/encoding/unicode_text.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr int kSplittersMax = 8;  // Sequences, one in another.

// The place of the separators that a pattern finds.
enum class Separator { kRemoved, kIsolated, kContiguous, kWithPrevious, kWithNext };

struct Segment {
  size_t begin, end;
  bool separates;
};

std::vector<Segment> SegmentsOf(std::string_view text, const std::vector<TextRange>& separators) {
  std::vector<Segment> segments;
  size_t done = 0;
  for (const auto& [begin, end] : separators) {
    if (done < begin) segments.push_back({done, begin, false});
    segments.push_back({begin, end, true});
    done = end;
  }
  if (done < text.size()) segments.push_back({done, text.size(), false});
  return segments;
}

// Every character for which `separates` holds, by itself.
template <typename Predicate>
std::vector<TextRange> Characters(std::string_view text, Predicate separates) {
  std::vector<TextRange> found;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (separates(NextCharacter(text, &i))) found.emplace_back(begin, i);
  }
  return found;
}

void Cut(std::string_view text, const std::vector<Segment>& segments, Separator separator,
         std::vector<std::string>* words) {
  bool joins = false;     // The next segment belongs to the last word.
  bool previous = false;  // The segment before separates.
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto& [begin, end, separates] = segments[i];
    const bool removed = separator == Separator::kRemoved && separates;
    if (separator == Separator::kContiguous) joins = i > 0 && separates == previous;
    if (separator == Separator::kWithPrevious) joins = i > 0 && separates && !previous;
    if (!removed && joins) {
      words->back() += text.substr(begin, end - begin);
    } else if (!removed) {
      words->emplace_back(text.substr(begin, end - begin));
    }
    // A separator joins what follows, unless that separates too.
    if (separator == Separator::kWithNext)
      joins = separates && i + 1 < segments.size() && !segments[i + 1].separates;
    previous = separates;
  }
}

Separator SeparatorOf(JsonFields& fields) {
  const std::string name = fields.Text("behavior", "Isolated");
  if (name == "Removed") return Separator::kRemoved;
  if (name == "Contiguous") return Separator::kContiguous;
  if (name == "MergedWithPrevious") return Separator::kWithPrevious;
  if (name == "MergedWithNext") return Separator::kWithNext;
  if (name != "Isolated") fields.Fail("behavior", absl::StrCat(Quoted(name), " is not known to inlier"));
  return Separator::kIsolated;
}

// Cuts at white space, and the parts at the characters for which `separates` holds.
void CutParts(const std::string& word, bool (*separates)(UChar32), Separator separator,
              std::vector<std::string>* words) {
  std::vector<std::string> parts;
  Cut(word, SegmentsOf(word, Characters(word, IsWhiteSpace)), Separator::kRemoved, &parts);
  for (const std::string& part : parts)
    Cut(part, SegmentsOf(part, Characters(part, separates)), separator, words);
}

void CutBytes(std::string word, bool with_space, bool with_regex, std::vector<std::string>* words) {
  if (with_space && !word.starts_with(' ')) word.insert(0, 1, ' ');
  if (!with_regex) return words->push_back(PrintableBytes(word));
  size_t position = 0;
  for (auto part = NextWord(word, &position); !part.empty(); part = NextWord(word, &position))
    words->push_back(PrintableBytes(part));
}

struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };
  std::string replacement;
  Prepend prepend = Prepend::kAlways;
  bool split = true;

  void operator()(std::string word, bool at_begin, std::vector<std::string>* words) const {
    word = absl::StrReplaceAll(word, {{" ", replacement}});
    const bool wanted = prepend == Prepend::kAlways || (prepend == Prepend::kFirst && at_begin);
    if (wanted && !word.starts_with(replacement)) word.insert(0, replacement);
    if (!split) return words->push_back(std::move(word));
    std::vector<TextRange> separators;
    for (size_t at = word.find(replacement); at != std::string::npos;
         at = word.find(replacement, at + replacement.size()))
      separators.emplace_back(at, at + replacement.size());
    Cut(word, SegmentsOf(word, separators), Separator::kWithNext, words);
  }
};

Metaspace MetaspaceOf(JsonFields& fields, bool is_first) {
  Metaspace made;
  made.replacement = fields.Text("replacement", "▁");
  size_t end = 0;
  if (!made.replacement.empty()) NextCharacter(made.replacement, &end);
  if (end == 0 || end != made.replacement.size()) fields.Fail("replacement", "is not one character");
  const std::string scheme = fields.Text("prepend_scheme", "always");
  if (scheme == "never") {
    made.prepend = Metaspace::Prepend::kNever;
  } else if (scheme == "first" && is_first) {
    made.prepend = Metaspace::Prepend::kFirst;
  } else if (scheme != "always") {
    fields.Fail("prepend_scheme", absl::StrCat(Quoted(scheme), " is not known to inlier",
                                               is_first ? "" : " behind another pre-tokenizer"));
  }
  // Of older files, for both keys.
  if (fields.Flag("add_prefix_space", scheme != "never") != (scheme != "never"))
    fields.Fail("add_prefix_space", "contradicts prepend_scheme");
  fields.Skip("str_rep");
  made.split = fields.Flag("split", true);
  return made;
}

}  // namespace

absl::StatusOr<WordSplitter> WordSplitter::Of(const nlohmann::json& value, const std::string& place) {
  WordSplitter splitter;
  if (value.is_null()) return splitter;
  RETURN_IF_ERROR(splitter.Add(value, place, 0));
  if (splitter.steps_.size() != 1) splitter.kind_ = Kind::kOther;
  return splitter;
}

absl::Status WordSplitter::Add(const nlohmann::json& value, const std::string& place, int depth) {
  JsonFields fields(value, place);
  const std::string type = fields.Text("type");
  if (type != "Sequence") return AddStep(value, place, type);
  const nlohmann::json& parts = fields.At("pretokenizers");
  if (!parts.is_array()) fields.Fail("pretokenizers", "is not a list");
  if (depth == kSplittersMax) fields.Fail("pretokenizers", "has too many sequences one in another");
  RETURN_IF_ERROR(fields.Finish());
  for (size_t i = 0; i < parts.size(); ++i)
    RETURN_IF_ERROR(Add(parts[i], absl::StrCat(fields.PathOf("pretokenizers"), "[", i, "]"), depth + 1));
  return absl::OkStatus();
}

absl::Status WordSplitter::AddStep(const nlohmann::json& value, const std::string& place,
                                   const std::string& type) {
  JsonFields fields(value, place);
  fields.Skip("type");
  // Keys that change nothing are left out, so that two files of the same meaning are the same here.
  nlohmann::json described = value;
  for (const char* ignored : {"trim_offsets", "str_rep"}) described.erase(ignored);
  if (type == "ByteLevel") described.emplace("use_regex", true);
  absl::StrAppend(&description_, described.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                  "\n");
  // Cuts at the characters for which `separates` holds.
  const auto at_characters = [this](auto separates, Separator separator) {
    steps_.push_back([separates, separator](const std::string& word, bool, std::vector<std::string>* words) {
      Cut(word, SegmentsOf(word, Characters(word, separates)), separator, words);
    });
  };
  if (type == "BertPreTokenizer") {
    kind_ = Kind::kBert;
    steps_.push_back([](const std::string& word, bool, std::vector<std::string>* words) {
      CutParts(word, IsPunctuation, Separator::kIsolated, words);
    });
  } else if (type == "ByteLevel") {
    if (!fields.Has("add_prefix_space")) fields.Fail("add_prefix_space", "is missing");
    const bool space = fields.Flag("add_prefix_space", true), regex = fields.Flag("use_regex", true);
    fields.Skip("trim_offsets");  // Of offsets, which are not used here.
    if (!space && regex) kind_ = Kind::kGpt2;
    spells_bytes_ = true;
    steps_.push_back([space, regex](std::string word, bool, std::vector<std::string>* words) {
      CutBytes(std::move(word), space, regex, words);
    });
  } else if (type == "Whitespace") {
    steps_.push_back([](const std::string& word, bool, std::vector<std::string>* words) {
      CutParts(word, IsWordCharacter, Separator::kContiguous, words);  // \w+|[^\w\s]+
    });
  } else if (type == "WhitespaceSplit") {
    at_characters(IsWhiteSpace, Separator::kRemoved);
  } else if (type == "Digits") {
    at_characters(IsNumeric,
                  fields.Flag("individual_digits", false) ? Separator::kIsolated : Separator::kContiguous);
  } else if (type == "Punctuation") {
    at_characters(IsPunctuation, SeparatorOf(fields));
  } else if (type == "CharDelimiterSplit") {
    const std::string delimiter = fields.Text("delimiter");
    size_t end = 0;
    const UChar32 c = delimiter.empty() ? 0 : NextCharacter(delimiter, &end);
    if (end == 0 || end != delimiter.size()) fields.Fail("delimiter", "is not one character");
    at_characters([c](UChar32 other) { return other == c; }, Separator::kRemoved);
  } else if (type == "Split") {
    ASSIGN_OR_RETURN(const TokenPattern pattern, PatternOf(fields.At("pattern"), fields.PathOf("pattern")));
    const Separator separator = SeparatorOf(fields);
    const bool invert = fields.Flag("invert", false);
    steps_.push_back(
        [pattern, separator, invert](const std::string& word, bool, std::vector<std::string>* words) {
          std::vector<Segment> segments = SegmentsOf(word, pattern.Matches(word));
          for (Segment& segment : segments) segment.separates ^= invert;
          Cut(word, segments, separator, words);
        });
  } else if (type == "Metaspace") {
    const Metaspace metaspace = MetaspaceOf(fields, steps_.empty());
    needs_begin_ |= metaspace.prepend == Metaspace::Prepend::kFirst;
    steps_.push_back(metaspace);
  } else {
    fields.Fail("type", absl::StrCat(Quoted(type), " is not known to inlier"));
  }
  return fields.Finish();
}

std::vector<std::string> WordSplitter::Split(std::string text, bool at_begin) const {
  std::vector<std::string> words, cut;
  if (!text.empty()) words.push_back(std::move(text));
  for (const Step& step : steps_) {
    cut.clear();
    for (size_t i = 0; i < words.size(); ++i) step(std::move(words[i]), at_begin && i == 0, &cut);
    words.swap(cut);
  }
  return words;
}

}  // namespace inlier
