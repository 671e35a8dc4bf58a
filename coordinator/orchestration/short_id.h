// A StrongId in 32 bits, for records of which there are millions: converts from and to it.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SHORT_ID_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SHORT_ID_H_

#include <compare>
#include <cstdint>
#include <limits>
#include <string>

#include "base/check.h"
#include "coordinator/store/ids.h"

namespace inlier {

template <typename Id>
class ShortId {
 public:
  constexpr ShortId() = default;
  // REQUIRES: it fits. What the store gives out does (kRowIdMax), and what is counted on from there.
  constexpr ShortId(Id id) : value_(static_cast<std::uint32_t>(id.value())) {
    INLIER_CHECK(id.value() == std::int64_t{value_});
  }
  constexpr operator Id() const { return Id(value_); }

  constexpr std::int64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  std::string ToString() const { return Id(*this).ToString(); }

  friend constexpr auto operator<=>(const ShortId&, const ShortId&) = default;
  friend constexpr bool operator==(const ShortId& a, const Id& b) { return Id(a) == b; }
  friend constexpr auto operator<=>(const ShortId& a, const Id& b) { return Id(a) <=> b; }

 private:
  std::uint32_t value_ = 0;
};

static_assert(kRowIdMax < std::numeric_limits<std::uint32_t>::max());

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SHORT_ID_H_
