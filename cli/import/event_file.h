// The records of TensorBoard's event files (TFRecord): length and content, each with a checksum.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_EVENT_FILE_H_
#define INLIER_CLI_IMPORT_EVENT_FILE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace inlier {

// CRC-32C, as the records have it: rotated, and with a constant added.
std::uint32_t MaskedCrc32c(std::string_view bytes);

// Calls visit(content, place) for each record, "events…: byte 24" being its place, until it fails. InvalidArgument with the place for a wrong
// checksum and for a record that is cut off.
absl::Status ForEachRecord(std::string_view bytes, const std::string& file,
                           const std::function<absl::Status(std::string_view, const std::string&)>& visit);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_EVENT_FILE_H_
