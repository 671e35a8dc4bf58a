#include "base/version_skew.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

constexpr std::size_t kShownBytes = 64;

// Major and minor number of "0.3.1".
std::optional<std::pair<std::uint32_t, std::uint32_t>> ReleaseOf(std::string_view version) {
  const char* const end = version.data() + version.size();
  std::uint32_t major = 0, minor = 0;
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc() || (second.ptr != end && *second.ptr != '.')) return std::nullopt;
  return std::pair(major, minor);
}

}  // namespace

absl::Status CheckVersionSkew(std::string_view caller, std::string_view caller_version,
                              std::string_view coordinator_version) {
  if (caller_version == coordinator_version) return absl::OkStatus();
  const auto refuse = [&](const char* remedy) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(caller), " inlier ", std::string(caller_version.substr(0, kShownBytes)),
                     " and this coordinator inlier ", std::string(coordinator_version), "; ", remedy));
  };
  const auto theirs = ReleaseOf(caller_version), ours = ReleaseOf(coordinator_version);
  if (!theirs || !ours) return refuse("install the same version on both");
  if (*theirs > *ours)
    return refuse(
        "upgrade the coordinator first: it takes programs of its own minor release and of the one before");
  if (theirs->first == ours->first && theirs->second + 1 >= ours->second) return absl::OkStatus();
  return refuse(
      "upgrade the caller: a coordinator takes programs of its own minor release and of the one before");
}

}  // namespace inlier
