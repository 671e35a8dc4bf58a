#include "cli/convert/hydra_value.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

constexpr int kHydraDepthMax = 50;

absl::Status Malformed(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

// The arguments of a function; a value that is no sweep is kSingle.
struct HydraArguments {
  std::vector<HydraValue> in_order;
  std::map<std::string, HydraValue> named;
};

absl::StatusOr<double> NumberFrom(const HydraArguments& arguments, std::size_t place, const char* name,
                                  std::optional<double> otherwise, bool* whole) {
  const auto named = arguments.named.find(name);
  const HydraValue* value = named != arguments.named.end()      ? &named->second
                            : place < arguments.in_order.size() ? &arguments.in_order[place]
                                                                : nullptr;
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr || value->kind != HydraValue::kSingle || !value->values[0].is_number())
    return Malformed(absl::StrCat("has no number for ", name, "; give it"));
  *whole = *whole && value->values[0].is_number_integer();
  return value->values[0].get<double>();
}

absl::StatusOr<HydraValue> MakeChoice(const HydraArguments& arguments) {
  HydraValue made{.kind = HydraValue::kChoice};
  for (const HydraValue& value : arguments.in_order) {
    if (value.kind == HydraValue::kChoice && arguments.in_order.size() == 1) return value;
    if (value.kind != HydraValue::kSingle) return Malformed("has a sweep inside of a choice; take it out");
    made.values.push_back(value.values[0]);
  }
  if (made.values.empty()) return Malformed("has no values; write choice(a, b)");
  return made;
}

absl::StatusOr<HydraValue> MakeSpan(HydraValue::Kind kind, const HydraArguments& arguments) {
  HydraValue made{.kind = kind, .whole = true};
  const bool is_range = kind == HydraValue::kRange;
  const std::size_t first =
      is_range && arguments.in_order.size() == 1 && !arguments.named.contains("stop") ? 1 : 0;
  if (first == 1 && !arguments.named.contains("start")) {  // range(stop)
    ASSIGN_OR_RETURN(made.stop, NumberFrom(arguments, 0, "stop", {}, &made.whole));
  } else {
    ASSIGN_OR_RETURN(made.start, NumberFrom(arguments, 0, "start",
                                            is_range ? std::optional(0.0) : std::nullopt, &made.whole));
    ASSIGN_OR_RETURN(made.stop, NumberFrom(arguments, 1, is_range ? "stop" : "end", {}, &made.whole));
  }
  if (is_range) {
    ASSIGN_OR_RETURN(made.step, NumberFrom(arguments, 2, "step", 1.0, &made.whole));
  }
  if (made.step == 0) return Malformed("has a step of 0; give another");
  return made;
}

ForeignValue CastTo(const std::string& type, const ForeignValue& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (type == "str" || type == "json_str") return text;
  const std::optional<ForeignValue> plain = PlainValue(text);
  if (!plain) return value;
  if (type == "bool" && plain->is_number()) return plain->get<double>() != 0;
  if (type == "bool") return *plain;
  const double number = plain->is_boolean() ? plain->get<bool>() : plain->get<double>();
  if (type == "int") return static_cast<std::int64_t>(std::clamp(number, -1e15, 1e15));
  return number;
}

absl::StatusOr<HydraValue> Cast(const std::string& type, const HydraArguments& arguments) {
  if (arguments.in_order.size() != 1) return Malformed(type + "() takes one value");
  HydraValue cast = arguments.in_order[0];
  if (type == "int" || type == "float") cast.whole = type == "int";
  if (type == "int" && (cast.kind == HydraValue::kRange || cast.kind == HydraValue::kInterval)) {
    cast.start = std::trunc(cast.start);
    cast.stop = std::trunc(cast.stop);
  }
  for (ForeignValue& value : cast.values) value = CastTo(type, value);
  return cast;
}

absl::StatusOr<HydraValue> Call(const std::string& name, HydraArguments arguments) {
  if (name == "choice") return MakeChoice(arguments);
  if (name == "range") return MakeSpan(HydraValue::kRange, arguments);
  if (name == "interval") return MakeSpan(HydraValue::kInterval, arguments);
  if (name == "int" || name == "float" || name == "str" || name == "bool" || name == "json_str")
    return Cast(name, arguments);
  if (name == "tag") {
    if (arguments.in_order.empty())
      return Malformed("tag() has no sweep; write tag(log, interval(1e-5, 1e-1))");
    HydraValue tagged = arguments.in_order.back();
    for (std::size_t i = 0; i + 1 < arguments.in_order.size(); ++i) {
      const HydraValue& tag = arguments.in_order[i];
      if (tag.kind != HydraValue::kSingle || !tag.values[0].is_string())
        return Malformed("has a tag that is no word");
      tagged.tags.push_back(tag.values[0].get<std::string>());
    }
    return tagged;
  }
  if (name == "shuffle" || name == "sort") {
    if (arguments.in_order.size() == 1 && arguments.in_order[0].kind != HydraValue::kSingle) {
      arguments.in_order[0].shuffled = name == "shuffle";
      return arguments.in_order[0];
    }
    return MakeChoice(arguments);
  }
  if (name == "glob" || name == "extend_list")
    return Malformed(
        name + "() looks into the configuration, which is not read here; write the values: choice(a, b)");
  return Malformed(Quoted(name) + " is no function of Hydra" +
                   DidYouMean(name, {"choice", "range", "interval", "tag", "shuffle", "sort", "int", "float",
                                     "str", "bool"}));
}

// Recursive descent over the text of a value.
class HydraParser {
 public:
  explicit HydraParser(std::string_view text) : text_(text) {}

  absl::StatusOr<HydraValue> Parse() {
    HydraArguments elements;
    do {
      ASSIGN_OR_RETURN(elements.in_order.emplace_back(), Element());
    } while (Take(','));
    if (at_ < text_.size()) return Unexpected();
    if (elements.in_order.size() == 1) return elements.in_order[0];
    return MakeChoice(elements);
  }

 private:
  absl::Status Unexpected() const {
    if (at_ >= text_.size())
      return Malformed(Quoted(text_) + " ends too early; close its brackets and quotes");
    return Malformed(absl::StrCat(Quoted(text_.substr(at_)),
                                  " is not expected there; look at the commas, brackets and quotes"));
  }

  void SkipSpaces() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  bool Take(char sign) {
    SkipSpaces();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  static HydraValue Single(ForeignValue value) { return {.values = {std::move(value)}}; }

  absl::StatusOr<HydraValue> Element() {
    if (++depth_ > kHydraDepthMax) return Malformed("has brackets deeper than 50 levels");
    SkipSpaces();
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    absl::StatusOr<HydraValue> element = first == '\'' || first == '"'  ? QuotedText()
                                         : first == '[' || first == '{' ? Group()
                                                                        : PrimitiveOrCall();
    --depth_;
    SkipSpaces();
    return element;
  }

  absl::StatusOr<HydraValue> QuotedText() {
    const char quote = text_[at_++];
    std::string value;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == quote || text_[at_ + 1] == '\\'))
        ++at_;
      value += text_[at_];
    }
    if (!Take(quote)) return Unexpected();
    return Single(value);
  }

  // [a, b] or {key: a}.
  absl::StatusOr<HydraValue> Group() {
    const bool keyed = text_[at_++] == '{';
    const char end = keyed ? '}' : ']';
    ForeignValue made = keyed ? ForeignValue::object() : ForeignValue::array();
    if (Take(end)) return Single(made);
    do {
      const std::size_t colon = keyed ? std::min(text_.find(':', at_), text_.size()) : at_;
      std::string key(text_.substr(at_, colon - at_));
      absl::StripAsciiWhitespace(&key);
      at_ = colon;
      if (keyed && !Take(':')) return Unexpected();
      ASSIGN_OR_RETURN(const HydraValue item, Element());
      if (item.kind != HydraValue::kSingle)
        return Malformed("has a sweep inside of a list or mapping; take it out");
      if (keyed) {
        made.get_ref<ForeignValue::object_t&>().emplace_back(std::move(key), item.values[0]);
      } else {
        made.push_back(item.values[0]);
      }
    } while (Take(','));
    if (!Take(end)) return Unexpected();
    return Single(std::move(made));
  }

  // A word, number or other text without quotes; or a function, when "(" follows a name.
  absl::StatusOr<HydraValue> PrimitiveOrCall() {
    std::string word;
    while (at_ < text_.size() && std::string_view(",()[]{}").find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      if (text_.substr(at_).starts_with("${")) {
        const std::size_t end = text_.find('}', at_);
        if (end == std::string_view::npos) return Unexpected();
        word.append(text_.substr(at_, end + 1 - at_));
        at_ = end + 1;
      } else {
        word += text_[at_++];
      }
      if (in_call_ > 0 && at_ < text_.size() && text_[at_] == '=') break;  // A named argument.
    }
    absl::StripTrailingAsciiWhitespace(&word);
    if (at_ < text_.size() && text_[at_] == '(') return Function(word);
    if (at_ < text_.size() && std::string_view("[{").find(text_[at_]) != std::string_view::npos)
      return Unexpected();
    if (word.empty() && text_.find_first_not_of(" \t\n") != std::string_view::npos) return Unexpected();
    if (absl::AsciiStrToLower(word) == "null") return Single(nullptr);
    return Single(PlainWord(word));
  }

  // yes and on are words there.
  static ForeignValue PlainWord(const std::string& word) {
    const std::optional<ForeignValue> plain = PlainValue(word);
    const std::string lower = absl::AsciiStrToLower(word);
    if (!plain || (plain->is_boolean() && lower != "true" && lower != "false")) return word;
    return *plain;
  }

  absl::StatusOr<HydraValue> Function(const std::string& name) {
    ++at_;
    ++in_call_;
    HydraArguments arguments;
    while (!Take(')')) {
      if (!arguments.in_order.empty() || !arguments.named.empty()) {
        if (!Take(',')) return Unexpected();
      }
      ASSIGN_OR_RETURN(HydraValue value, Element());
      if (Take('=')) {
        const bool is_name = value.kind == HydraValue::kSingle && value.values[0].is_string();
        if (!is_name) return Unexpected();
        ASSIGN_OR_RETURN(arguments.named[value.values[0].get<std::string>()], Element());
      } else {
        arguments.in_order.push_back(std::move(value));
      }
    }
    --in_call_;
    return Call(name, std::move(arguments));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int in_call_ = 0;
};

}  // namespace

std::vector<ForeignValue> HydraValue::Listed(std::size_t count_max) const {
  std::vector<ForeignValue> listed;
  for (double i = 0; listed.size() <= count_max; ++i) {
    const double value = RoundedTo(12, start + i * step);  // As decimal numbers, like Hydra.
    if (step > 0 ? value >= stop : value <= stop) break;
    listed.push_back(NumberValue(whole ? std::trunc(value) : value, whole));
  }
  return listed;
}

absl::StatusOr<HydraValue> ParseHydraValue(std::string_view text) { return HydraParser(text).Parse(); }

}  // namespace inlier
