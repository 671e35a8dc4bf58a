#include "spec/data/json_texts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

JsonTexts::JsonTexts(std::string_view text, std::string file, RecordForm form)
    : text_(text), file_(std::move(file)), lines_(form == RecordForm::kJsonLines) {
  PassSpace();
  array_ = at_ < text_.size() && text_[at_] == '[';
  if (array_) ++at_;
}

void JsonTexts::PassSpace() {
  const std::size_t end = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
  at_line_ += static_cast<std::size_t>(std::ranges::count(text_.substr(at_, end - at_), '\n'));
  at_ = end;
}

void JsonTexts::Take(std::size_t end) {
  line_ = at_line_;
  begin_ = at_;
  value_ = text_.substr(at_, end - at_);
  at_line_ += static_cast<std::size_t>(std::ranges::count(value_, '\n'));
  at_ = end;
}

std::size_t JsonTexts::column() const {
  return begin_ - (text_.substr(0, begin_).rfind('\n') + 1) + 1;  // npos + 1 is 0.
}

std::size_t JsonTexts::EndOfValue() const {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = at_; i < text_.size(); ++i) {
    const char c = text_[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
      continue;
    } else if (c == '{' || c == '[') {
      ++depth;
      continue;
    } else if (depth == 0 && (c == ',' || c == ']' || c == '}' || kSpace.find(c) != std::string_view::npos)) {
      return std::max(i, at_ + 1);
    } else if (c == '}' || c == ']') {
      --depth;
    } else {
      continue;
    }
    if (depth == 0 && !in_string) return std::min(i + 1, text_.size());
  }
  return text_.size();
}

absl::StatusOr<bool> JsonTexts::NextElement() {
  const auto wrong = [this](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(file_, ":", at_line_, ": ", what));
  };
  const auto not_closed = [&] {
    return wrong(
        absl::StrCat("the array is not closed behind its element ", elements_, ": is the file complete?"));
  };
  PassSpace();
  if (at_ >= text_.size()) return not_closed();
  if (text_[at_] == ']') {
    ++at_;
    PassSpace();
    if (at_ == text_.size()) return false;
    return wrong("text behind the end of the array; one array of objects is read");
  }
  if (elements_ > 0) {
    if (text_[at_] != ',')
      return wrong(
          absl::StrCat("no comma between the elements ", elements_, " and ", elements_ + 1, " of the array"));
    ++at_;
    PassSpace();
    if (at_ >= text_.size()) return not_closed();
  }
  Take(EndOfValue());
  ++elements_;
  return true;
}

absl::StatusOr<bool> JsonTexts::Next() {
  if (array_) return NextElement();
  PassSpace();
  if (at_ >= text_.size()) return false;
  Take(lines_ ? std::min(text_.find('\n', at_), text_.size()) : EndOfValue());
  return true;
}

}  // namespace inlier
