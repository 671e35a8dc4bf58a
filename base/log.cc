#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "spdlog/formatter.h"
#include "spdlog/sinks/base_sink.h"

namespace inlier {
namespace {

// `text` with control characters as escapes.
std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kHex[] = "0123456789abcdef";
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      line += c;
    }
  }
  return line;
}

struct ParsedLine {
  std::string event;
  nlohmann::ordered_json fields = nlohmann::ordered_json::object();
  std::string message;
};

// Length of "key=" at `at`; 0 when there is none.
std::size_t KeyLength(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  return end > at && end < text.size() && text[end] == '=' ? end + 1 - at : 0;
}

// The quoted value at `at`, and where it ends: at a quote that a space or the end of the line follows.
std::string TakeQuoted(std::string_view text, std::size_t& at) {
  std::string value;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) {
      value += text[++at];
    } else if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] == ' ')) {
      ++at;
      break;
    } else {
      value += text[at];
    }
  }
  return value;
}

ParsedLine Parse(std::string_view text) {
  ParsedLine parsed;
  std::size_t at = std::min(text.find(' '), text.size());
  parsed.event = std::string(text.substr(0, at));
  if (!parsed.event.empty() && parsed.event.back() == ':') parsed.event.pop_back();
  if (at + 1 < text.size() && text[at + 1] == '{') {  // JSON of its own.
    parsed.message = std::string(text.substr(at + 1));
    return parsed;
  }
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const std::size_t key = KeyLength(text, at);
    const std::string name(text.substr(at, key == 0 ? 0 : key - 1));
    at += key;
    std::string value;
    if (key > 0 && at < text.size() && text[at] == '"') {
      value = TakeQuoted(text, at);
    } else {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      value = std::string(text.substr(at, end - at));
      at = end;
    }
    if (key > 0) {
      parsed.fields[name] = std::move(value);
    } else {
      absl::StrAppend(&parsed.message, parsed.message.empty() ? "" : " ", value);
    }
  }
  return parsed;
}

class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(LogFormat format) : format_(format) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto since = message.time.time_since_epoch();
    const WallTime time{std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string line = FormatLogLine(format_, time, {level.data(), level.size()},
                                           {message.logger_name.data(), message.logger_name.size()},
                                           {message.payload.data(), message.payload.size()});
    out.append(line.data(), line.data() + line.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_);
  }

 private:
  const LogFormat format_;
};

std::atomic<int> log_batches = 0;

// Lines to stderr: one write a flush, and none while a LogBatch lives.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    formatter_->format(message, lines_);
    if (lines_.size() >= kHeldBytes || message.level >= spdlog::level::warn) Write();
  }
  void flush_() override {
    if (log_batches == 0) Write();
  }

 private:
  static constexpr std::size_t kHeldBytes = 1 << 16;

  void Write() {
    for (std::size_t at = 0; at < lines_.size();) {
      const ssize_t written = ::write(STDERR_FILENO, lines_.data() + at, lines_.size() - at);
      if (written < 0 && errno != EINTR) break;  // No reader, or no space: the lines are lost.
      if (written > 0) at += static_cast<std::size_t>(written);
    }
    lines_.clear();
  }

  spdlog::memory_buf_t lines_;
};

}  // namespace

LogBatch::LogBatch() { ++log_batches; }

LogBatch::~LogBatch() {
  if (--log_batches == 0) spdlog::default_logger_raw()->flush();
}

std::string LogText(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string FormatLogLine(LogFormat format, WallTime time, std::string_view level, std::string_view program,
                          std::string_view text) {
  if (format == LogFormat::kText)
    return absl::StrCat(FormatUtc(time), " ", std::string(level), " ", std::string(program), " ",
                        OneLine(text));
  const ParsedLine parsed = Parse(text);
  nlohmann::ordered_json line = {{"time", FormatUtc(time)},
                                 {"level", std::string(level)},
                                 {"program", std::string(program)},
                                 {"event", parsed.event},
                                 {"fields", parsed.fields}};
  if (!parsed.message.empty()) line["message"] = parsed.message;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void InitLog(const std::string& program, std::string_view level) {
  auto logger = std::make_shared<spdlog::logger>(program, std::make_shared<StderrSink>());
  logger->set_formatter(std::make_unique<LineFormatter>(LogFormat::kText));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

absl::Status SetLogFormat(const std::string& name) {
  if (name != "text" && name != "json")
    return absl::InvalidArgumentError(
        absl::StrCat("log_format: '", name, "' is not a format; expected text or json"));
  spdlog::default_logger()->set_formatter(
      std::make_unique<LineFormatter>(name == "json" ? LogFormat::kJson : LogFormat::kText));
  return absl::OkStatus();
}

}  // namespace inlier
