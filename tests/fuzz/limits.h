// Limits of one input, in replay and under libFuzzer: to go beyond one is a finding, as a crash is. They are far above
// the needs of any input of these targets, and far below those of one that runs away.
#ifndef INLIER_TESTS_FUZZ_LIMITS_H_
#define INLIER_TESTS_FUZZ_LIMITS_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace inlier {

struct InputLimits {
  double cpu_seconds = 10;        // Of all threads of the process, so that a busy machine makes no finding.
  std::int64_t memory_mib = 512;  // Growth of the resident memory, at its highest.
  unsigned wall_seconds = 120;    // For an input that only waits; the caller's alarm, or libFuzzer's.
};

// Calls FuzzOne(input). Ends the process by SIGABRT, with a line on stderr, as soon as it takes more processor time or
// memory, also if it never returns.
//
// Thread safety: none; SIGPROF and its timer are used.
void FuzzWithinLimits(std::string_view input, const InputLimits& limits = InputLimits());

// The same for libFuzzer, which looks at single allocations and at the memory of all inputs together, too.
std::string LibFuzzerOptions();

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_LIMITS_H_
