#include "cli/saved_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "dashboard/page/page_files.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  return text.substr(from + begin.size(), text.find(end, from + begin.size()) - from - begin.size());
}

TEST(SavedPageTest, NoTextEndsTheElementThatItIsIn) {
  const nlohmann::json data = {{"message", "</script><script>alert(1)</script><!--"}};
  const std::string page = PageAround("<b>&amp;</b>", data.dump());
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;b&gt;&amp;amp;&lt;/b&gt;</title>"));
  EXPECT_EQ(nlohmann::json::parse(Between(page, "id=\"inlier-data\">", "</script>")), data);
}

TEST(SavedPageTest, EveryModuleIsInIt) {
  const std::string page = PageAround("x", "{}");
  const auto imports =
      nlohmann::json::parse(Between(page, "<script type=\"importmap\">", "</script>"))["imports"];
  std::size_t modules = 0;
  for (const PageFile& file : PageFiles()) {
    if (!file.name.ends_with(".js")) continue;
    ++modules;
    const std::string address = imports.at("page/" + std::string(file.name));
    std::string code;
    ASSERT_TRUE(absl::Base64Unescape(address.substr(address.find(',') + 1), &code)) << file.name;
    EXPECT_THAT(code, Not(AnyOf(HasSubstr("from \"./"), HasSubstr("import(\"./")))) << file.name;
  }
  EXPECT_EQ(modules, imports.size());
  EXPECT_GT(modules, 10u);
}

// It asks nothing of any server.
TEST(SavedPageTest, ItMayLoadNothing) {
  EXPECT_THAT(PageAround("x", "{}"), HasSubstr("default-src 'none'; script-src 'unsafe-inline' data:;"));
}

}  // namespace
}  // namespace inlier
