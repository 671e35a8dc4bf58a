// The same target for libFuzzer, whose own mutations and ours take turns.
#include <cstring>

#include "base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits.h"

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

int LLVMFuzzerInitialize(int*, char***) {
  spdlog::set_level(spdlog::level::off);
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  inlier::FuzzWithinLimits(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t size_max,
                                    unsigned seed) {
  inlier::FuzzRandom random(seed);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, size, size_max);
  const std::string mutated =
      inlier::FuzzMutate(std::string(reinterpret_cast<const char*>(data), size), random).substr(0, size_max);
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}

}  // extern "C"
