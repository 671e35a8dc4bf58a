#include "spec/trial/outcome.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/utf8.h"

namespace inlier {
namespace {

constexpr std::size_t kMessageBytesMax = 4000;

}  // namespace

v1::Outcome FailedOutcome(v1::FailureClass failure, std::string_view message) {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_failure(failure);
  outcome.set_message(std::string(CutUtf8(message, kMessageBytesMax)));
  return outcome;
}

bool ReportsOutOfMemory(std::string_view message) {
  const std::string lower = absl::AsciiStrToLower(absl::string_view(message.data(), message.size()));
  for (const char* sign : {"bad_alloc", "out of memory", "can't allocate memory", "cannot allocate memory",
                           "not enough memory"}) {
    if (absl::StrContains(lower, sign)) return true;
  }
  return false;
}

}  // namespace inlier
