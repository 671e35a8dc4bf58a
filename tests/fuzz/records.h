// An input as a list of calls: for each its kind, the size of its bytes, and the bytes. Any output of a
// fuzzer is such a list.
#ifndef INLIER_TESTS_FUZZ_RECORDS_H_
#define INLIER_TESTS_FUZZ_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

inline constexpr std::size_t kFuzzRecordsMax = 40;

// `Kind` is an enumeration of unsigned char, from 0, that ends with kKinds.
template <typename Kind>
struct FuzzRecord {
  Kind kind{};
  std::string bytes;
};

// A partial record at the end, and records beyond kFuzzRecordsMax, are dropped.
template <typename Kind>
std::vector<FuzzRecord<Kind>> ParseRecords(std::string_view input) {
  std::vector<FuzzRecord<Kind>> records;
  while (input.size() >= 5 && records.size() < kFuzzRecordsMax) {
    std::uint32_t size = 0;
    std::memcpy(&size, input.data() + 1, 4);
    const auto kind = static_cast<Kind>(static_cast<unsigned char>(input[0]) % Kind::kKinds);
    input.remove_prefix(5);
    records.push_back({kind, std::string(input.substr(0, size))});
    input.remove_prefix(std::min<std::size_t>(size, input.size()));
  }
  return records;
}

template <typename Kind>
std::string JoinRecords(const std::vector<FuzzRecord<Kind>>& records) {
  std::string input;
  for (const FuzzRecord<Kind>& record : records) {
    const auto size = static_cast<std::uint32_t>(record.bytes.size());
    input += static_cast<char>(record.kind);
    input.append(reinterpret_cast<const char*>(&size), 4);
    input += record.bytes;
  }
  return input;
}

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_RECORDS_H_
