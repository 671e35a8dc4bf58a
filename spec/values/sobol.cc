#include "spec/values/sobol.h"

#include <array>

#include "base/check.h"
#include "spec/values/philox.h"

namespace inlier {
namespace {

constexpr int kBits = 32;

// A primitive polynomial of degree s over GF(2), the bits of `a` its inner coefficients, and the first s
// direction numbers m_k, odd and below 2^k.
struct Primitive {
  int s;
  std::uint32_t a;
  std::array<std::uint32_t, 9> m;
};

// Dimensions 1 to 63; dimension 0 is van der Corput's sequence. From new-joe-kuo-6.21201, Joe and Kuo 2008,
// "Constructing Sobol sequences with better two-dimensional projections".
constexpr std::array<Primitive, kSobolDimensions - 1> kPrimitives = {{
    // clang-format off
    {1, 0, {1}}, {2, 1, {1, 3}}, {3, 1, {1, 3, 1}}, {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}}, {5, 2, {1, 1, 5, 5, 17}}, {5, 4, {1, 1, 5, 5, 5}}, {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}}, {5, 13, {1, 1, 1, 3, 11}}, {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}}, {6, 13, {1, 1, 1, 15, 21, 21}}, {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}}, {6, 22, {1, 3, 1, 15, 13, 25}}, {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}}, {7, 4, {1, 3, 7, 13, 13, 15, 69}}, {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}}, {7, 14, {1, 3, 1, 13, 9, 35, 107}}, {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}}, {7, 28, {1, 3, 5, 3, 3, 13, 69}}, {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}}, {7, 37, {1, 1, 3, 9, 25, 29, 41}}, {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}}, {7, 50, {1, 3, 1, 3, 5, 53, 69}}, {7, 55, {1, 1, 5, 5, 23, 33, 13}},
    {7, 56, {1, 1, 7, 7, 1, 61, 123}}, {7, 59, {1, 1, 7, 9, 13, 61, 49}}, {7, 62, {1, 3, 3, 5, 3, 55, 33}},
    {8, 14, {1, 3, 1, 15, 31, 13, 49, 245}}, {8, 21, {1, 3, 5, 15, 31, 59, 63, 97}},
    {8, 22, {1, 3, 1, 11, 11, 11, 77, 249}}, {8, 38, {1, 3, 1, 11, 27, 43, 71, 9}},
    {8, 47, {1, 1, 7, 15, 21, 11, 81, 45}}, {8, 49, {1, 3, 7, 3, 25, 31, 65, 79}},
    {8, 50, {1, 3, 1, 1, 19, 11, 3, 205}}, {8, 52, {1, 1, 5, 9, 19, 21, 29, 157}},
    {8, 56, {1, 3, 7, 11, 1, 33, 89, 185}}, {8, 67, {1, 3, 3, 3, 15, 9, 79, 71}},
    {8, 70, {1, 3, 7, 11, 15, 39, 119, 27}}, {8, 84, {1, 1, 3, 1, 11, 31, 97, 225}},
    {8, 97, {1, 1, 1, 3, 23, 43, 57, 177}}, {8, 103, {1, 3, 7, 7, 17, 17, 37, 71}},
    {8, 115, {1, 3, 1, 5, 27, 63, 123, 213}}, {8, 122, {1, 1, 3, 5, 11, 43, 53, 133}},
    {9, 8, {1, 3, 5, 5, 29, 17, 47, 173, 479}}, {9, 13, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {9, 16, {1, 1, 1, 5, 17, 39, 23, 5, 343}}, {9, 22, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {9, 25, {1, 1, 1, 11, 11, 17, 63, 105, 183}}, {9, 44, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {9, 47, {1, 1, 5, 15, 19, 45, 41, 7, 383}}, {9, 52, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {9, 55, {1, 1, 1, 3, 23, 15, 111, 223, 83}}, {9, 59, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {9, 62, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
    // clang-format on
}};

using Directions = std::array<std::array<std::uint32_t, kBits>, kSobolDimensions>;

// v_k = m_k / 2^k as 32 bits, k from 0.
Directions MakeDirections() {
  Directions directions{};
  for (int k = 0; k < kBits; ++k) directions[0][k] = 1u << (kBits - 1 - k);
  for (int dimension = 1; dimension < kSobolDimensions; ++dimension) {
    const Primitive& primitive = kPrimitives[dimension - 1];
    std::array<std::uint32_t, kBits>& v = directions[dimension];
    const int s = primitive.s;
    for (int k = 0; k < kBits; ++k) {
      if (k < s) {
        v[k] = primitive.m[k] << (kBits - 1 - k);
        continue;
      }
      v[k] = v[k - s] ^ (v[k - s] >> s);
      for (int j = 1; j < s; ++j) {
        if (((primitive.a >> (s - 1 - j)) & 1u) != 0) v[k] ^= v[k - j];
      }
    }
  }
  return directions;
}

}  // namespace

std::uint32_t SobolBits(int dimension, std::uint32_t index) {
  INLIER_CHECK(dimension >= 0 && dimension < kSobolDimensions);
  static const Directions directions = MakeDirections();
  std::uint32_t bits = 0;
  for (int k = 0; index != 0; ++k, index >>= 1) {
    if ((index & 1u) != 0) bits ^= directions[dimension][k];
  }
  return bits;
}

std::uint32_t OwenScramble(std::uint32_t bits, int dimension, std::uint32_t seed) {
  std::uint32_t scrambled = 0;
  for (int k = 0; k < kBits; ++k) {
    // The k bits above this one, as they were before the scrambling.
    const std::uint32_t above = k == 0 ? 0 : bits >> (kBits - k);
    const auto words =
        Philox({above, static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(dimension), 1}, {seed, 0});
    const std::uint32_t bit = (bits >> (kBits - 1 - k)) & 1u;
    scrambled = (scrambled << 1) | (bit ^ (words[0] & 1u));
  }
  return scrambled;
}

}  // namespace inlier
