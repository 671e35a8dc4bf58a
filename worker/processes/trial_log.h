// log.txt of an attempt: the output of its child, bounded. Keeps the last lines for the outcome's message.
//
// Thread safety: none.
#ifndef INLIER_WORKER_PROCESSES_TRIAL_LOG_H_
#define INLIER_WORKER_PROCESSES_TRIAL_LOG_H_

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/files/descriptor.h"
#include "worker/processes/event_reader.h"

namespace inlier {

class TrialLog {
 public:
  static constexpr std::uint64_t kBytesMax = 16 << 20;  // Later output is left out, with a note.
  static constexpr std::size_t kLastLines = 20;
  static constexpr std::size_t kLineBytesMax = 4096;

  TrialLog() : lines_(kLineBytesMax) {}

  // Opens `path` for appending. Without it (on a full disk, for example) lines are kept in memory only.
  absl::Status Open(const std::filesystem::path& path);

  using OnLine = std::function<void(const std::string&)>;
  // Output of the child; `on_line` gets each complete line, made printable.
  void Write(std::string_view bytes, const OnLine& on_line);
  void Finish(const OnLine& on_line);
  // A line of the worker's own.
  void WriteLine(std::string_view line);

  const std::deque<std::string>& last_lines() const { return last_; }

 private:
  void Append(std::string_view bytes);
  void Keep(const LineSplitter::Line& line, const OnLine& on_line);

  Descriptor file_;
  std::uint64_t bytes_ = 0;
  LineSplitter lines_;
  std::deque<std::string> last_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_PROCESSES_TRIAL_LOG_H_
