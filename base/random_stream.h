// The source of randomness: every number is a pure function of (seed, name, index) and its place in the stream.
//
// A caller names the purpose of its numbers ("mask", "order", "dropout") and their index (a step, an epoch). So a
// resumed training stores no generator, and no use shifts the numbers of another. Not for cryptography.
//
// Thread safety: a stream belongs to one thread; making one is cheap.
#ifndef INLIER_BASE_RANDOM_STREAM_H_
#define INLIER_BASE_RANDOM_STREAM_H_

#include <cstdint>
#include <string_view>

namespace inlier {

class RandomStream {
 public:
  RandomStream(uint64_t seed, std::string_view name, uint64_t index = 0);

  // 64 uniform bits. The n-th call is a hash of n under the stream's two keys.
  uint64_t Next();

  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform();

  // Uniform in {0 … n - 1}, without bias. REQUIRES: n > 0.
  uint64_t Below(uint64_t n);

 private:
  uint64_t key0_;
  uint64_t key1_;
  uint64_t counter_ = 0;
};

// A random order of {0 … size - 1} that is computed place by place, without a list: a Feistel network over
// the next even number of bits, walked until it lands inside.
//
// Thread safety: const calls may run together.
class RandomOrder {
 public:
  // The order is a pure function of (seed, name, index, size). REQUIRES: size > 0.
  RandomOrder(uint64_t size, uint64_t seed, std::string_view name, uint64_t index = 0);

  // The element at `place`. REQUIRES: place < size.
  uint64_t At(uint64_t place) const;

 private:
  static constexpr int kRounds = 8;
  uint64_t size_;
  int half_bits_;
  uint64_t round_keys_[kRounds];
};

}  // namespace inlier

#endif  // INLIER_BASE_RANDOM_STREAM_H_
