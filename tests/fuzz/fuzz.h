// A fuzz target: three functions, one target a program.
//
// With clang and libFuzzer (`make fuzz`) the bytes come from coverage. Everywhere else replay_main.cc runs
// the same functions over the seeds and a number of mutations of them, the same ones each time, as a test.
//
// Thread safety: none.
#ifndef INLIER_TESTS_FUZZ_FUZZ_H_
#define INLIER_TESTS_FUZZ_FUZZ_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

using FuzzRandom = std::mt19937_64;

// One input. A finding ends the process: a failed INLIER_CHECK, a sanitizer, a signal, an exception that
// escapes, more time or memory than limits.h allows.
void FuzzOne(std::string_view input);
// Inputs that reach far.
std::vector<std::string> FuzzSeeds();
// Another input made from this one.
std::string FuzzMutate(std::string input, FuzzRandom& random);

// Changes some bytes: flipped, replaced by boundary values, cut out, doubled, moved.
std::string MutateBytes(std::string input, FuzzRandom& random);
// Changes one thing in `message` or in a message inside it: a value at a border, a text that is no UTF-8, a
// field cleared, a repetition more or less.
void MutateMessage(google::protobuf::Message& message, FuzzRandom& random);

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_FUZZ_H_
