#include "cli/import/wandb_log.h"

#include <boost/crc.hpp>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr std::string_view kHead = ":W&B\xE1\xBE";  // And a version.
constexpr std::size_t kBlock = 32768, kFileHead = 7, kPartHead = 7;
enum Part : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Of the kind and the content.
std::uint32_t ChecksumOf(std::string_view kind_and_content) {
  boost::crc_32_type sum;
  sum.process_bytes(kind_and_content.data(), kind_and_content.size());
  return sum.checksum();
}

}  // namespace

absl::Status ForEachWandbRecord(
    std::string_view bytes, const std::string& file,
    const std::function<absl::Status(std::string_view, const std::string&)>& visit) {
  if (!bytes.starts_with(kHead))
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": byte 0: does not begin as a log of Weights & Biases does"));
  if (bytes.size() < kFileHead || bytes[kFileHead - 1] != 0)
    return absl::UnimplementedError(absl::StrCat(file,
                                                 ": byte 6: is a log of another version; let `wandb sync` "
                                                 "upload the run, and import its export as CSV"));
  std::string record;
  std::string place;
  const auto broken = [&](std::size_t at, const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": byte ", at, ": ", why,
                     "; copy the file again once the run has ended, or leave its folder out"));
  };
  for (std::size_t at = kFileHead; at < bytes.size();) {
    if (const std::size_t left = kBlock - at % kBlock; left < kPartHead) {
      at += left;
      continue;
    }
    if (bytes.size() - at < kPartHead) return broken(at, "the record that begins here is cut off");
    std::uint32_t crc = 0;
    std::uint16_t length = 0;
    std::memcpy(&crc, bytes.data() + at, sizeof(crc));
    std::memcpy(&length, bytes.data() + at + 4, sizeof(length));
    const auto kind = static_cast<std::uint8_t>(bytes[at + 6]);
    if (bytes.size() - at - kPartHead < length) return broken(at, "the record that begins here is cut off");
    if (ChecksumOf(bytes.substr(at + 6, 1u + length)) != crc)
      return broken(at, "a checksum is wrong: the file is damaged");
    const bool begins = kind == kFull || kind == kFirst;
    if (kind < kFull || kind > kLast || begins != record.empty())
      return broken(at, "the parts of a record do not fit together");
    if (begins) place = absl::StrCat(file, ": byte ", at);
    record.append(bytes.substr(at + kPartHead, length));
    at += kPartHead + length;
    if (kind != kFull && kind != kLast) continue;
    RETURN_IF_ERROR(visit(record, place));
    record.clear();
  }
  if (!record.empty()) return broken(bytes.size(), "the last record is cut off");
  return absl::OkStatus();
}

}  // namespace inlier
