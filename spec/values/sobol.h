// Sobol's sequence: points that fill the unit cube evenly, every prefix of 2^m of them in every dimension once each
// in all 2^m equal intervals. Direction numbers of Joe and Kuo 2008 (new-joe-kuo-6).
//
// Point i is computed from i alone, in the order of the binary expansion. Implementations in Gray code order, such as
// SciPy's, have point n ^ (n >> 1) as their point n.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_VALUES_SOBOL_H_
#define INLIER_SPEC_VALUES_SOBOL_H_

#include <cstdint>

namespace inlier {

inline constexpr int kSobolDimensions = 64;

// Coordinate `dimension` (from 0) of point `index`, times 2^32. REQUIRES: 0 <= dimension < kSobolDimensions.
std::uint32_t SobolBits(int dimension, std::uint32_t index);

// Owen's nested uniform scrambling (Owen 1995): each bit is flipped or not by a random choice of its own for every
// value of the bits above it. Keeps the evenness, removes the regular pattern and the point at the origin.
std::uint32_t OwenScramble(std::uint32_t bits, int dimension, std::uint32_t seed);

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_SOBOL_H_
