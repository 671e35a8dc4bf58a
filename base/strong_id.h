// Numbers that name things, a type for each kind: a TrialId cannot be passed where a StageId is wanted.
//
// The text form carries the kind: "t-17". Zero names nothing.
#ifndef INLIER_BASE_STRONG_ID_H_
#define INLIER_BASE_STRONG_ID_H_

#include <charconv>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace inlier {

// `Tag` has a `static constexpr std::string_view kPrefix`, for example "t-".
template <typename Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(std::int64_t value) : value_(value) {}

  constexpr std::int64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;

  std::string ToString() const { return std::string(Tag::kPrefix) + std::to_string(value_); }

  // Reads "t-17"; nullopt when the prefix is another one or no positive number follows it.
  static std::optional<StrongId> Parse(std::string_view text) {
    if (text.substr(0, Tag::kPrefix.size()) != Tag::kPrefix) return std::nullopt;
    text.remove_prefix(Tag::kPrefix.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
    return StrongId(value);
  }

  template <typename H>
  friend H AbslHashValue(H h, const StrongId& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  std::int64_t value_ = 0;
};

}  // namespace inlier

template <typename Tag>
struct std::hash<inlier::StrongId<Tag>> {
  std::size_t operator()(const inlier::StrongId<Tag>& id) const noexcept {
    return std::hash<std::int64_t>()(id.value());
  }
};

#endif  // INLIER_BASE_STRONG_ID_H_
