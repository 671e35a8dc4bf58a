#include "worker/processes/trial_log.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {

absl::Status TrialLog::Open(const std::filesystem::path& path) {
  file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  return file_.fd() < 0 ? ErrnoStatus(absl::StrCat("cannot open ", path.string())) : absl::OkStatus();
}

void TrialLog::Append(std::string_view bytes) {
  if (file_.fd() < 0 || bytes_ >= kBytesMax) return;
  bytes = bytes.substr(0, kBytesMax - bytes_);
  bytes_ += bytes.size();
  if (!WriteAll(file_.fd(), bytes)) return;  // A log that cannot be written must not stop the attempt.
  if (bytes_ < kBytesMax) return;
  constexpr std::string_view kNote = "\n[the log has reached its largest size; the rest is left out]\n";
  WriteAll(file_.fd(), kNote);
}

void TrialLog::Keep(const LineSplitter::Line& line, const OnLine& on_line) {
  std::string text = Printable(line.text, kLineBytesMax);
  if (line.cut) text += "…";
  last_.push_back(text);
  if (last_.size() > kLastLines) last_.pop_front();
  on_line(text);
}

void TrialLog::Write(std::string_view bytes, const OnLine& on_line) {
  Append(bytes);
  lines_.Feed(bytes, [&](const LineSplitter::Line& line) { Keep(line, on_line); });
}

void TrialLog::Finish(const OnLine& on_line) {
  lines_.Finish([&](const LineSplitter::Line& line) { Keep(line, on_line); });
}

void TrialLog::WriteLine(std::string_view line) {
  Append(absl::StrCat("[worker] ", std::string(line), "\n"));
}

}  // namespace inlier
