// JSON of strangers: errors have a place and no content, and memory stays bounded.
#include "base/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/peak_memory.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string ErrorOf(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = ParseJsonText(text, "f", 1, limits);
  EXPECT_FALSE(value.ok()) << text.substr(0, 100);
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

TEST(JsonTextTest, ErrorsHaveTheirPlace) {
  EXPECT_EQ(ErrorOf("{\"a\": 1,\n  \"b\" 2}"), "f:2:7: not JSON: unexpected number literal; expected ':'");
  EXPECT_THAT(ErrorOf(""), StartsWith("f:1:1: not JSON: "));
  EXPECT_EQ(ErrorOf("{\"a\": {\"b\": 1, \"b\": 2}}"), "f:1: a key of an object occurs twice");
  EXPECT_EQ((*ParseJsonText("{\"a\": [1, \"x\"]}", "f"))["a"][1], "x");
}

TEST(JsonTextTest, ErrorsQuoteNothing) {
  for (const std::string text :
       {"secret-4711", "{secret-4711", "{\"secret-4711\": x}", "[\"secret-4711\" 1]", "\"secret-4711",
        "[1e999, \"secret-4711\"]", "{\"secret-4711\":1,\"secret-4711\":2}", "[\"secret-4711\xff\"]",
        "[-secret-4711]", "4711e4711"}) {
    EXPECT_THAT(ErrorOf(text), Not(HasSubstr("4711"))) << text;
    EXPECT_THAT(ErrorOf(text), Not(HasSubstr("secret"))) << text;
  }
}

TEST(JsonTextTest, LimitsAreNamed) {
  EXPECT_EQ(ErrorOf("[[[1]]]", {.depth_max = 2}), "f:1: nested deeper than 2");
  EXPECT_EQ(ErrorOf("[1, 2, 3]", {.values_max = 3}), "f:1: more than 3 values and keys");
  EXPECT_THAT(ErrorOf("[1, 2, 3]", {.bytes_max = 5}), StartsWith("f:1: JSON of 9 bytes; at most 5 are read"));
}

TEST(JsonTextTest, HostileTextsTakeLittleMemory) {
  constexpr std::size_t kBytes = 10'000'000;
  std::string objects;
  while (objects.size() < kBytes) objects += "{\"\":";
  std::string flat = "[";
  while (flat.size() < kBytes) flat += "0,";
  for (const std::string& text : {std::string(kBytes, '['), objects, flat}) {
    EXPECT_LT(PeakMib([&text] { (void)ParseJsonText(text, "f"); }), 64) << text.substr(0, 10);
  }
}

TEST(JsonTextTest, NestingIsCountedOutsideOfStrings) {
  EXPECT_EQ(NestingDepth(""), 0);
  EXPECT_EQ(NestingDepth("{}"), 1);
  EXPECT_EQ(NestingDepth(R"({"a": [1, {"b": []}], "c": {}})"), 4);
  EXPECT_EQ(NestingDepth(R"({"a": "[[[\"[[[", "b": '{{"{{'})"), 1);
  EXPECT_EQ(NestingDepth(R"('"[[[' [[[)"), 3);  // The parser takes both quotes.
  EXPECT_EQ(NestingDepth(std::string(1000, '[')), 1000);
  EXPECT_EQ(NestingDepth("]]]]["), 0);
  EXPECT_EQ(NestingDepth("\"\\"), 0);
}

}  // namespace
}  // namespace inlier
