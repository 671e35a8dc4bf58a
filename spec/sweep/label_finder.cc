#include "spec/sweep/label_finder.h"

#include <utility>

#include "spec/schema/number_text.h"
#include "spec/schema/struct_value.h"

namespace inlier {

using google::protobuf::Value;

LabelFinder::LabelFinder(std::vector<std::string> labels) : labels_(std::move(labels)) {
  for (std::uint32_t i = 0; i < labels_.size(); ++i) {
    by_text_.emplace(labels_[i], i);
    const std::optional<double> number = ParseNumber(labels_[i]);
    if (!number) continue;
    const auto [at, is_new] = by_number_.emplace(FormatNumber(*number), i);
    if (!is_new) at->second.reset();
  }
}

std::optional<std::uint32_t> LabelFinder::Find(const std::string& text) const {
  if (const auto at = by_text_.find(text); at != by_text_.end()) return at->second;
  const std::optional<double> number = ParseNumber(text);
  if (!number) return std::nullopt;
  const auto at = by_number_.find(FormatNumber(*number));
  return at == by_number_.end() ? std::nullopt : at->second;
}

Value WithLabels(Value wanted, const LabelFinder* finder) {
  const auto replace = [&](Value& one) {
    if (one.kind_case() == Value::kNullValue) return;
    const std::string text = ValueText(one);
    if (finder != nullptr) {
      if (const auto found = finder->Find(text)) one.set_string_value(finder->labels()[*found]);
    } else if (const auto number = ParseNumber(text)) {
      one.set_number_value(*number);
    }
  };
  if (wanted.kind_case() != Value::kListValue) {
    replace(wanted);
  } else {
    for (Value& one : *wanted.mutable_list_value()->mutable_values()) replace(one);
  }
  return wanted;
}

}  // namespace inlier
