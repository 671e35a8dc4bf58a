#include "spec/trial/outcome.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(OutcomeTest, AFailureCarriesItsClassAndItsMessage) {
  const v1::Outcome outcome = FailedOutcome(v1::LOST, "why");
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(outcome.failure(), v1::LOST);
  EXPECT_EQ(outcome.message(), "why");
}

TEST(OutcomeTest, ALongMessageIsCutBetweenTwoCharacters) {
  std::string text;
  while (text.size() < 5000) text += "…";
  const std::string message = FailedOutcome(v1::CRASHED, text).message();
  EXPECT_EQ(message.size(), 3999u);
  EXPECT_EQ(message, text.substr(0, 3999));
}

TEST(OutcomeTest, MessagesAboutMissingMemoryAreRecognised) {
  EXPECT_TRUE(ReportsOutOfMemory("what():  std::bad_alloc"));
  EXPECT_TRUE(
      ReportsOutOfMemory("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"));
  EXPECT_TRUE(ReportsOutOfMemory("DefaultCPUAllocator: not enough memory"));
  EXPECT_TRUE(ReportsOutOfMemory("CUDA error: Out Of Memory"));
  EXPECT_FALSE(ReportsOutOfMemory("out of range"));
}

}  // namespace
}  // namespace inlier
