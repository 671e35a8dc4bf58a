#include "coordinator/queries/frames.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(FramesTest, MessageIsThereWhenAllOfItHasCome) {
  const std::string frame = Framed("hello") + Framed(std::string(300, 'x'));
  for (std::size_t size = 0; size < 9; ++size) {
    EXPECT_EQ(FirstFrame(frame.substr(0, size)).value(), std::nullopt) << size;
  }
  EXPECT_EQ(**FirstFrame(frame), "hello");
  EXPECT_EQ(**FirstFrame(frame.substr(9)), std::string(300, 'x'));
}

TEST(FramesTest, LengthThatNoMessageHasIsRefused) {
  EXPECT_EQ(FirstFrame("\xff\xff\xff\xff").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace inlier
