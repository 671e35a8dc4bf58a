#include "coordinator/orchestration/label_pool.h"

#include <algorithm>
#include <cstring>

namespace inlier {
namespace {

// A label of fewer bytes has its length in one, any other in five.
constexpr std::size_t kShort = 255;

}  // namespace

PackedLabels LabelPool::Pack(const PointLabels& labels) {
  if (labels.empty()) return nullptr;
  const auto has_names = [&labels](const std::vector<std::string>& names) {
    return std::equal(names.begin(), names.end(), labels.begin(), labels.end(),
                      [](const std::string& name, const auto& label) { return name == label.first; });
  };
  // Those of the latest grids are at the end.
  auto names = std::find_if(names_.rbegin(), names_.rend(), has_names);
  if (names == names_.rend()) {
    std::vector<std::string>& added = names_.emplace_back();
    for (const auto& [name, label] : labels) added.push_back(name);
    names = names_.rbegin();
  }
  const auto number = static_cast<std::uint32_t>(names_.rend() - names - 1);
  std::size_t size = sizeof(number);
  for (const auto& [name, label] : labels) size += label.size() + (label.size() < kShort ? 1 : 5);
  PackedLabels packed(new char[size]);
  char* to = packed.get();
  const auto put = [&to](const void* from, std::size_t count) {
    std::memcpy(to, from, count);
    to += count;
  };
  put(&number, sizeof(number));
  for (const auto& [name, label] : labels) {
    const auto length = static_cast<std::uint32_t>(label.size());
    const auto first = static_cast<std::uint8_t>(std::min(label.size(), kShort));
    put(&first, 1);
    if (first == kShort) put(&length, sizeof(length));
    put(label.data(), label.size());
  }
  return packed;
}

PointLabels LabelPool::Unpack(const PackedLabels& packed) const {
  PointLabels labels;
  if (packed == nullptr) return labels;
  const char* from = packed.get();
  std::uint32_t number = 0;
  std::memcpy(&number, from, sizeof(number));
  from += sizeof(number);
  for (const std::string& name : names_.at(number)) {
    std::uint32_t length = static_cast<std::uint8_t>(*from++);
    if (length == kShort) {
      std::memcpy(&length, from, sizeof(length));
      from += sizeof(length);
    }
    labels.emplace_back(name, std::string(from, length));
    from += length;
  }
  return labels;
}

}  // namespace inlier
