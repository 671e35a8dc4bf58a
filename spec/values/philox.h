// Philox4x32-10: 128 random bits that are a function of a counter and a key (Salmon et al. 2011, "Parallel Random
// Numbers: As Easy as 1, 2, 3"), without state and the same on every machine.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_VALUES_PHILOX_H_
#define INLIER_SPEC_VALUES_PHILOX_H_

#include <array>
#include <cstdint>

namespace inlier {

inline std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter,
                                           std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_PHILOX_H_
