#include "notify/signature.h"

#include <gtest/gtest.h>

#include "base/backoff.h"
#include "notify/receiver.h"

namespace inlier {
namespace {

// RFC 4231, cases 1, 2, 3 and 6.
TEST(SignatureTest, IsThatOfRfc4231) {
  EXPECT_EQ(HmacSha256Hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(HmacSha256Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(HmacSha256Hex(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(HmacSha256Hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(DeliveryBackoffTest, GrowsFromASecondToAQuarterOfAnHour) {
  EXPECT_EQ(kDeliveryBackoff.Wait(1, 0.5), std::chrono::seconds(1));
  EXPECT_EQ(kDeliveryBackoff.Wait(4, 0.5), std::chrono::seconds(8));
  EXPECT_EQ(kDeliveryBackoff.Wait(40, 0.5), std::chrono::minutes(15));
  EXPECT_LT(kDeliveryBackoff.Wait(40, 0), std::chrono::minutes(15));
  EXPECT_GT(kDeliveryBackoff.Wait(1, 0.9), std::chrono::seconds(1));
}

}  // namespace
}  // namespace inlier
