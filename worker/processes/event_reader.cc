#include "worker/processes/event_reader.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace inlier {
namespace {

constexpr std::size_t kQuotedBytesMax = 200;

}  // namespace

void LineSplitter::Feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    std::string_view piece = bytes.substr(0, end);
    const bool complete = end != std::string_view::npos;
    bytes.remove_prefix(complete ? end + 1 : bytes.size());
    if (skipping_) {
      skipping_ = !complete;
      continue;
    }
    if (partial_.size() + piece.size() > max_) {
      partial_.append(piece.substr(0, max_ - partial_.size()));
      on_line({partial_, true});
      partial_.clear();
      skipping_ = !complete;
    } else if (!complete) {
      partial_.append(piece);
    } else if (partial_.empty()) {
      on_line({piece, false});
    } else {
      partial_.append(piece);
      on_line({partial_, false});
      partial_.clear();
    }
  }
}

void LineSplitter::Finish(const OnLine& on_line) {
  if (!partial_.empty()) on_line({partial_, false});
  partial_.clear();
  skipping_ = false;
}

std::string Printable(std::string_view text, std::size_t bytes_max) {
  const std::string_view part = CutUtf8(text, bytes_max);
  // Keeps UTF-8, escapes quotes and control characters.
  std::string shown = absl::Utf8SafeCHexEscape(ReplaceInvalidUtf8(part));
  if (part.size() < text.size()) shown += "…";
  return shown;
}

absl::StatusOr<v1::TrialEvent> ParseEventLine(std::string_view line) {
  v1::TrialEvent event;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(line.data(), line.size()), &event, options);
  if (!status.ok()) return absl::InvalidArgumentError("not a JSON event");
  if (event.event_case() == v1::TrialEvent::EVENT_NOT_SET)
    return absl::InvalidArgumentError("a JSON object without an event");
  return event;
}

void EventReader::OnLine(const LineSplitter::Line& line, std::vector<v1::TrialEvent>& events,
                         std::vector<std::string>& messages) {
  std::string_view text = line.text;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.find_first_not_of(" \t") == std::string_view::npos && !line.cut) return;
  std::string reason;
  if (line.cut) {
    reason = absl::StrCat("longer than ", max_, " bytes (line_bytes_max)");
  } else if (absl::StatusOr<v1::TrialEvent> event = ParseEventLine(text); event.ok()) {
    events.push_back(*std::move(event));
    return;
  } else {
    reason = std::string(event.status().message());
  }
  if (garbage_++ == 0) first_garbage_ = Printable(text, kQuotedBytesMax);
  if (garbage_ <= kGarbageReportedMax) {
    messages.push_back(
        absl::StrCat("the trial wrote a line on its event descriptor that is ", reason, ": \"",
                     Printable(text, kQuotedBytesMax), "\"",
                     garbage_ == kGarbageReportedMax ? "; further ones are only counted" : ""));
  }
}

std::vector<std::string> EventReader::Feed(std::string_view bytes, std::vector<v1::TrialEvent>& events) {
  std::vector<std::string> messages;
  lines_.Feed(bytes, [&](const LineSplitter::Line& line) { OnLine(line, events, messages); });
  return messages;
}

std::vector<std::string> EventReader::Finish(std::vector<v1::TrialEvent>& events) {
  std::vector<std::string> messages;
  lines_.Finish([&](const LineSplitter::Line& line) { OnLine(line, events, messages); });
  return messages;
}

}  // namespace inlier
