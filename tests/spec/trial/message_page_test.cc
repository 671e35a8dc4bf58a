#include "tests/spec/message_page.h"

#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;

std::string PageFile(const std::string& name) {
  std::ifstream file(INLIER_SOURCE_DIR "/docs/reference/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void ExpectComments(const Descriptor* type) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    // The comment of a message explains its only field.
    const Descriptor* explained = type->field_count() == 1 ? type : field->message_type();
    EXPECT_FALSE(CommentOf(field->full_name()).empty() &&
                 (explained == nullptr || CommentOf(explained->full_name()).empty()))
        << field->full_name() << " has no comment";
    if (IsOwnMessage(field) && !field->is_map() && field->message_type()->name() != "TrialSpec" &&
        field->message_type() != type)
      ExpectComments(field->message_type());
  }
}

TEST(MessagePageTest, EveryKeyOfTheFilesHasAComment) {
  ExpectComments(v1::SweepSpec::descriptor());
  ExpectComments(v1::CoordinatorConfig::descriptor());
  ExpectComments(v1::WorkerConfig::descriptor());
}

TEST(MessagePageTest, AKeyHasItsTypeRangeDefaultAndMeaning) {
  const std::string sweep = SweepFileMarkdown();
  EXPECT_THAT(sweep, HasSubstr("| `name` | text; required | Letters, digits"));
  EXPECT_THAT(sweep, HasSubstr("| `axes` | list of [Axis](#axis) | The dimensions"));
  EXPECT_THAT(sweep, HasSubstr("| `when` | map of names to a value or a list of values | Conditional axis"));
  EXPECT_THAT(sweep, HasSubstr("| `scales` | map of names to [SweepScale](#sweepscale) |"));
  EXPECT_THAT(sweep, HasSubstr("Exactly one of `median`, `asha`."));
  EXPECT_THAT(sweep, HasSubstr("<br>HEAT_MAP: A measurement by two axes"));
  EXPECT_THAT(sweep, HasSubstr("| `program` | name or folder of a program | A program of one's own"));
  EXPECT_THAT(sweep, testing::Not(HasSubstr("ProgramUse")));
  const std::string configuration = ConfigurationMarkdown();
  EXPECT_THAT(configuration, HasSubstr("| `lease_ttl_ms` | integer; from 200 to 3600000; default 15000 |"));
  EXPECT_THAT(configuration, HasSubstr("## HookConfig\n"));
}

TEST(MessagePageTest, ThePagesAreUpToDate) {
  EXPECT_TRUE(PageFile("sweep.md") == SweepFileMarkdown()) << "run: ninja -C <build> update_reference";
  EXPECT_TRUE(PageFile("configuration.md") == ConfigurationMarkdown())
      << "run: ninja -C <build> update_reference";
}

}  // namespace
}  // namespace inlier
