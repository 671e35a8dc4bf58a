// Parses a child's bytes into events: lines of bounded length, each one TrialEvent in JSON.
//
// A child may print anything. A line that is not an event is garbage: it is counted, and the first is kept for messages.
//
// Thread safety: none.
#ifndef INLIER_WORKER_PROCESSES_EVENT_READER_H_
#define INLIER_WORKER_PROCESSES_EVENT_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

// Cuts bytes into lines. Of a line longer than the limit the rest is skipped, so that memory stays bounded.
class LineSplitter {
 public:
  struct Line {
    std::string_view text;  // Without the line feed; valid during the call only.
    bool cut = false;       // It was longer.
  };
  using OnLine = std::function<void(const Line&)>;

  explicit LineSplitter(std::size_t line_bytes_max) : max_(line_bytes_max) {}
  void Feed(std::string_view bytes, const OnLine& on_line);
  // The stream has ended: gives the last line if it had no line feed.
  void Finish(const OnLine& on_line);

 private:
  std::size_t max_;
  std::string partial_;
  bool skipping_ = false;
};

class EventReader {
 public:
  explicit EventReader(std::size_t line_bytes_max) : max_(line_bytes_max), lines_(line_bytes_max) {}

  // Appends the events of `bytes` to `events`; skips empty lines. Returns messages about the garbage, at most
  // kGarbageReportedMax in the life of the reader.
  std::vector<std::string> Feed(std::string_view bytes, std::vector<v1::TrialEvent>& events);
  std::vector<std::string> Finish(std::vector<v1::TrialEvent>& events);

  static constexpr std::uint64_t kGarbageReportedMax = 3;
  std::uint64_t garbage_lines() const { return garbage_; }
  // The beginning of the first garbage line, made printable; empty when there was none.
  const std::string& first_garbage() const { return first_garbage_; }

 private:
  void OnLine(const LineSplitter::Line& line, std::vector<v1::TrialEvent>& events,
              std::vector<std::string>& messages);

  std::size_t max_;
  LineSplitter lines_;
  std::uint64_t garbage_ = 0;
  std::string first_garbage_;
};

// Parses one line. InvalidArgument with the reason.
absl::StatusOr<v1::TrialEvent> ParseEventLine(std::string_view line);

// `text` cut to `bytes_max`, as UTF-8: quotes and control characters are escaped, invalid bytes become U+FFFD.
std::string Printable(std::string_view text, std::size_t bytes_max);

}  // namespace inlier

#endif  // INLIER_WORKER_PROCESSES_EVENT_READER_H_
