// The JSON header of a safetensors file: {"__metadata__": {string: string}, "<name>": {"dtype", "shape",
// "data_offsets": [begin, end]}}.
//
// It is read without a tree of JSON values, so that a hostile header takes a small multiple of its own bytes:
// at most 2^20 tensors of at most 64 axes, nothing nested deeper than 16. Errors name a tensor by its place
// in the header, because its name is content of the file.
#ifndef INLIER_CORE_IO_SAFETENSORS_HEADER_H_
#define INLIER_CORE_IO_SAFETENSORS_HEADER_H_

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

using StringMap = std::map<std::string, std::string>;

inline constexpr char kSafetensorsMetadata[] = "__metadata__";

// The header's entry for one tensor.
struct SafetensorsEntry {
  c10::ScalarType dtype = c10::kFloat;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // Bytes from the start of the data section.
  std::uint64_t end = 0;
  std::uint32_t number = 0;  // Its place in the header, from 1.
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> entries;
  StringMap metadata;
};

// Checks lengths, offsets, overlaps, holes, types and byte counts against `data_bytes`, the bytes after the
// header. DataLoss names the fault.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, std::uint64_t data_bytes);

// "F32"; null for a type that the format or this reader does not know.
const char* SafetensorsName(c10::ScalarType type);

}  // namespace inlier

#endif  // INLIER_CORE_IO_SAFETENSORS_HEADER_H_
