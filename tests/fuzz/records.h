// An input as a list of calls: for each its kind, the size of its bytes, and the bytes. Any output of a
// fuzzer is such a list.
#ifndef INLIER_TESTS_FUZZ_RECORDS_H_
#define INLIER_TESTS_FUZZ_RECORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz.h"

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

template <typename Kind>
FuzzRecord<Kind> Make(Kind kind, const google::protobuf::Message& message) {
  return {kind, message.SerializeAsString()};
}

// Removes one, repeats it, moves it, inserts one of kind `extra`, or changes one: half of the time as a message,
// by `change`, which returns false where it is none. REQUIRES: there is one.
template <typename Kind>
void MutateRecords(std::vector<FuzzRecord<Kind>>& records, Kind extra, FuzzRandom& random,
                   const std::function<bool(FuzzRecord<Kind>&)>& change) {
  const auto any = [&] { return static_cast<std::ptrdiff_t>(random() % records.size()); };
  const auto at = records.begin() + any();
  switch (random() % 10) {
    case 0:
      records.erase(at);
      break;
    case 1:
      records.insert(records.begin() + any(), FuzzRecord<Kind>(*at));
      break;
    case 2:
      std::swap(*at, *(records.begin() + any()));
      break;
    case 3:
      records.insert(at, {extra, std::string(1, static_cast<char>(random()))});
      break;
    case 4:
      at->bytes = MutateBytes(at->bytes, random);
      break;
    default:
      if (!change(*at)) at->bytes = MutateBytes(at->bytes, random);
  }
}

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_RECORDS_H_
