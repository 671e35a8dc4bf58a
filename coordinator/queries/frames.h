// Messages on a socket between the coordinator and a process that runs queries: each after its length.
#ifndef INLIER_COORDINATOR_QUERIES_FRAMES_H_
#define INLIER_COORDINATOR_QUERIES_FRAMES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace inlier {

inline constexpr std::size_t kFrameBytesMax = 64 << 20;

std::string Framed(std::string_view message);

// The message at the beginning of `bytes`; nullopt while it is incomplete. InvalidArgument above
// kFrameBytesMax.
absl::StatusOr<std::optional<std::string_view>> FirstFrame(std::string_view bytes);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_QUERIES_FRAMES_H_
