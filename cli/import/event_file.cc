#include "cli/import/event_file.h"

#include <boost/crc.hpp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::size_t kLengthBytes = 8, kCrcBytes = 4;

using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

// Little-endian, as this machine is.
template <typename Number>
Number NumberAt(std::string_view bytes) {
  Number number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace

std::uint32_t MaskedCrc32c(std::string_view bytes) {
  Crc32c sum;
  sum.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t crc = sum.checksum();
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

absl::Status ForEachRecord(std::string_view bytes, const std::string& file,
                           const std::function<absl::Status(std::string_view, const std::string&)>& visit) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string place = absl::StrCat(file, ": byte ", at);
    const std::string_view rest = bytes.substr(at);
    const auto cut = [&place] {
      return absl::InvalidArgumentError(absl::StrCat(
          place,
          ": the record that begins here is cut off; copy the file again, once its program has ended"));
    };
    if (rest.size() < kLengthBytes + kCrcBytes) return cut();
    if (NumberAt<std::uint32_t>(rest.substr(kLengthBytes)) != MaskedCrc32c(rest.substr(0, kLengthBytes)))
      return absl::InvalidArgumentError(absl::StrCat(place,
                                                     ": the checksum of a record's length is wrong: the file "
                                                     "is damaged, or not an event file; copy it again"));
    const auto length = NumberAt<std::uint64_t>(rest);
    const std::size_t room = rest.size() - kLengthBytes - kCrcBytes;
    if (room < kCrcBytes || length > room - kCrcBytes) return cut();
    const std::string_view content = rest.substr(kLengthBytes + kCrcBytes, length);
    if (NumberAt<std::uint32_t>(rest.substr(kLengthBytes + kCrcBytes + length)) != MaskedCrc32c(content))
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": the checksum of the record is wrong: the file is damaged; copy it again"));
    RETURN_IF_ERROR(visit(content, place));
    at += kLengthBytes + kCrcBytes + length + kCrcBytes;
  }
  return absl::OkStatus();
}

}  // namespace inlier
