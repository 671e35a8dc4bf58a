#include "coordinator/queries/frames.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace inlier {
constexpr std::size_t kLengthBytes = 4;

std::string Framed(std::string_view message) {
  std::string frame;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    frame.push_back(static_cast<char>((message.size() >> (8 * i)) & 0xff));
  return frame.append(message);
}

absl::StatusOr<std::optional<std::string_view>> FirstFrame(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    size |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  if (size > kFrameBytesMax)
    return absl::InvalidArgumentError(absl::StrCat("a message of ", size, " bytes is too long"));
  if (bytes.size() < kLengthBytes + size) return std::nullopt;
  return bytes.substr(kLengthBytes, size);
}

}  // namespace inlier
