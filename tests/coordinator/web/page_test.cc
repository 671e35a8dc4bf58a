// The static files.
#include <gmock/gmock.h>

#include "dashboard/page/page_files.h"
#include "tests/coordinator/services/guarded_fixture.h"
#include "tests/coordinator/web/client.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;

class PageTest : public GuardedTest {
 protected:
  Answer Get(const std::string& path, const Headers& headers = {}) {
    return HttpClient(coordinator_->http_address()).Send("GET", path, headers);
  }
};

TEST_F(PageTest, FilesAreServedWithTheHeadersThatConfineThem) {
  Start();
  const Answer index = Get("/");
  EXPECT_EQ(index.status, 200);
  EXPECT_THAT(index.headers.at("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(index.headers.at("content-security-policy"), HasSubstr("default-src 'self'"));
  EXPECT_THAT(index.headers.at("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
  EXPECT_EQ(index.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(index.headers.at("x-frame-options"), "DENY");
  for (const PageFile& file : PageFiles()) {
    const Answer served = Get("/page/" + std::string(file.name));
    EXPECT_EQ(served.status, 200) << file.name;
    EXPECT_EQ(served.body, file.content) << file.name;
    EXPECT_EQ(served.headers.at("content-type"), file.content_type) << file.name;
  }
  EXPECT_EQ(Get("/page/nothing.js").status, 404);
  EXPECT_EQ(Get("/page/../page/main.js").status, 404);
  EXPECT_EQ(Get("/metrics").status, 200);
}

// The page needs no inline script, which the policy forbids, and every file that a module names is there.
TEST_F(PageTest, ModulesNameFilesThatAreThere) {
  std::set<std::string> names;
  for (const PageFile& file : PageFiles()) names.insert(std::string(file.name));
  for (const PageFile& file : PageFiles()) {
    if (file.name == "echarts.js") continue;
    const std::string content(file.content);
    EXPECT_THAT(content, Not(HasSubstr("innerHTML"))) << file.name;
    for (const std::string before : {"from \"./", "import(\"./"}) {
      for (std::size_t at = 0; (at = content.find(before, at)) != std::string::npos; ++at) {
        const std::size_t name = at + before.size();
        EXPECT_TRUE(names.contains(content.substr(name, content.find('"', name) - name))) << file.name;
      }
    }
  }
}

TEST_F(PageTest, AnUnchangedFileIsNotSentAgain) {
  Start();
  const Answer first = Get("/page/echarts.js");
  const Answer again = Get("/page/echarts.js", {{"If-None-Match", first.headers.at("etag")}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  const Answer small = Get("/page/echarts.js", {{"Accept-Encoding", "gzip, br"}});
  EXPECT_EQ(small.headers.at("content-encoding"), "gzip");
  EXPECT_LT(small.body.size(), first.body.size() / 2);
}

TEST_F(PageTest, WithoutThePageThereIsNoJsonEither) {
  config_.set_page(false);
  Start();
  EXPECT_EQ(Get("/").status, 404);
  EXPECT_EQ(Get("/api/about").status, 404);
  EXPECT_EQ(HttpClient(coordinator_->http_address()).Post("ListSweeps", "{}").status, 413);
  EXPECT_EQ(Get("/healthz").body, "ok\n");
}

}  // namespace
}  // namespace inlier
