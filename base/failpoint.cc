#include "base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace inlier {
namespace {

constexpr char kVariable[] = "INLIER_FAILPOINTS";

struct Armed {
  int signal = 0;
  std::uint64_t at = 0;
  std::atomic<std::uint64_t> reached{0};
};

[[noreturn]] void Refuse(const std::string& part) {
  std::fprintf(stderr, "%s: '%s' is not NAME=kill@N or NAME=stop@N with N from 1; unset it or correct it\n",
               kVariable, part.c_str());
  std::_Exit(2);
}

// Made at the first use, never destroyed: failpoints may be reached while the process ends.
std::map<std::string, Armed>& Points() {
  static auto* const points = [] {
    auto* made = new std::map<std::string, Armed>();
    const char* text = std::getenv(kVariable);
    if (text == nullptr) return made;
    for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> sides =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      const std::pair<absl::string_view, absl::string_view> action =
          absl::StrSplit(sides.second, absl::MaxSplits('@', 1));
      Armed& armed = (*made)[std::string(sides.first)];
      armed.signal = action.first == "kill" ? SIGKILL : action.first == "stop" ? SIGSTOP : 0;
      if (sides.first.empty() || armed.signal == 0 || !absl::SimpleAtoi(action.second, &armed.at) ||
          armed.at == 0)
        Refuse(std::string(part));
    }
    return made;
  }();
  return *points;
}

}  // namespace

const bool kFailpointsArmed = !Points().empty();

void ReachFailpoint(const char* name) {
  const auto point = Points().find(name);
  if (point == Points().end() || ++point->second.reached != point->second.at) return;
  const std::string line =
      absl::StrCat("failpoint ", name, point->second.signal == SIGKILL ? " kill\n" : " stop\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::kill(::getpid(), point->second.signal);
}

}  // namespace inlier
