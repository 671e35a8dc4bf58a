// Valid UTF-8, the replacement of invalid bytes, and the place where a text is cut.
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace inlier {
namespace {

constexpr char kReplaced[] = "\xef\xbf\xbd";

// `count` times U+FFFD, then `text`.
std::string Replaced(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += kReplaced;
  return all + text;
}

TEST(Utf8Test, WellFormedTextsStayAsTheyAre) {
  for (const std::string text :
       {"", "a", "eight of ASCII, and more", "größer", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf",
        "\xee\x80\x80", "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
    EXPECT_EQ(ReplaceInvalidUtf8(text), text);
  }
  EXPECT_TRUE(IsUtf8(std::string("\0", 1)));
}

// The examples of the Unicode standard, tables 3-8 to 3-11.
TEST(Utf8Test, EachMaximalPartIsReplacedOnce) {
  EXPECT_EQ(ReplaceInvalidUtf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), Replaced(8, "A"));
  EXPECT_EQ(ReplaceInvalidUtf8("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), Replaced(8, "A"));
  EXPECT_EQ(ReplaceInvalidUtf8("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), Replaced(5, "A") + Replaced(2, "B"));
  EXPECT_EQ(ReplaceInvalidUtf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), Replaced(4, "A"));
  EXPECT_EQ(ReplaceInvalidUtf8("plain ASCII\xe2\x82"), "plain ASCII" + Replaced(1, ""));
  EXPECT_EQ(ValidUtf8Prefix("plain ASCII\xe2\x82"), 11u);
  EXPECT_EQ(ValidUtf8Prefix("größer\xff"), 8u);
}

TEST(Utf8Test, EveryByteAfterEveryLeadIsValidOrReplaced) {
  for (int lead = 0x80; lead < 0x100; ++lead) {
    for (int next = 0; next < 0x100; ++next) {
      const std::string text = {static_cast<char>(lead), static_cast<char>(next), '\x80', '\x80', 'x'};
      const std::string made = ReplaceInvalidUtf8(text);
      EXPECT_TRUE(IsUtf8(made)) << lead << " " << next;
      EXPECT_EQ(made == text, IsUtf8(text)) << lead << " " << next;
      EXPECT_EQ(made.back(), 'x');
    }
  }
}

TEST(Utf8Test, TextsAreCutBetweenCharacters) {
  EXPECT_EQ(CutUtf8("größer", 100), "größer");
  EXPECT_EQ(CutUtf8("größer", 8), "größer");
  EXPECT_EQ(CutUtf8("größer", 4), "grö");
  EXPECT_EQ(CutUtf8("größer", 3), "gr");
  for (const std::size_t most : {1u, 2u, 3u}) EXPECT_EQ(CutUtf8("\xf0\x9f\x98\x80!", most), "");
  EXPECT_EQ(CutUtf8("\xf0\x9f\x98\x80!", 4), "\xf0\x9f\x98\x80");
  // No character begins so far back: it is no UTF-8 anyway.
  EXPECT_EQ(CutUtf8("\x80\x80\x80\x80\x80\x80", 5).size(), 5u);
  EXPECT_EQ(CutUtf8("abc", 0), "");
}

TEST(Utf8Test, QuotedFitsOneLine) {
  EXPECT_EQ(Quoted("a\nb"), "\"a b\"");
  EXPECT_EQ(Quoted(std::string(59, 'a') + "ö"), "\"" + std::string(59, 'a') + "…\"");
}

}  // namespace
}  // namespace inlier
