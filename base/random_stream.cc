#include "base/random_stream.h"

#include <bit>

#include "base/check.h"

namespace inlier {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014; constants of Stafford's variant 13): a bijection
// of 64 bits in which every input bit moves about half of the output bits.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd.

// FNV-1a.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

RandomStream::RandomStream(uint64_t seed, std::string_view name, uint64_t index) {
  const uint64_t family = Mix(Mix(seed + kGolden) ^ HashName(name));
  key0_ = Mix(family + kGolden * (index + 1));
  key1_ = Mix(key0_ ^ Mix(family ^ ~index));
}

uint64_t RandomStream::Next() { return Mix(Mix(key0_ + kGolden * ++counter_) ^ key1_); }

double RandomStream::Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

uint64_t RandomStream::Below(uint64_t n) {
  INLIER_CHECK(n > 0);
  // Lemire 2019: a product's upper half is uniform once the few lower halves that favour some are redrawn.
  auto product = static_cast<unsigned __int128>(Next()) * n;
  if (static_cast<uint64_t>(product) < n) {
    const uint64_t excess = -n % n;  // 2^64 mod n
    while (static_cast<uint64_t>(product) < excess) product = static_cast<unsigned __int128>(Next()) * n;
  }
  return static_cast<uint64_t>(product >> 64);
}

RandomOrder::RandomOrder(uint64_t size, uint64_t seed, std::string_view name, uint64_t index) : size_(size) {
  INLIER_CHECK(size > 0);
  // Two halves of at least one bit: the walk meets at most four places an element on average.
  half_bits_ = (std::bit_width(size - 1) + 1) / 2;
  if (half_bits_ == 0) half_bits_ = 1;
  RandomStream stream(seed, name, index);
  for (uint64_t& key : round_keys_) key = stream.Next();
}

uint64_t RandomOrder::At(uint64_t place) const {
  INLIER_CHECK(place < size_);
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  do {
    uint64_t left = place >> half_bits_;
    uint64_t right = place & mask;
    for (const uint64_t key : round_keys_) {
      const uint64_t next = left ^ (Mix(right ^ key) & mask);
      left = right;
      right = next;
    }
    place = left << half_bits_ | right;
  } while (place >= size_);
  return place;
}

}  // namespace inlier
