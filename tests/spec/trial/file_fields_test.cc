// Every text of a trial declares what it names, and the paths are found by that.
#include "spec/trial/file_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "inlier/v1/param_options.pb.h"
#include "spec/schema/field_path.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// A new text without a declaration fails here: the worker would not know whether it is a file.
void ExpectDeclared(const Descriptor* type, const std::string& prefix, std::vector<std::string>* paths) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string path = prefix + field->name();
    if (IsMade(field)) continue;  // The name of a program is not a file, and no path names it.
    ASSERT_FALSE(field->is_repeated()) << path << ": CheckFilePaths looks at no lists";
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      ExpectDeclared(field->message_type(), path + ".", paths);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      const v1::ParamOptions& options = field->options().GetExtension(v1::param);
      EXPECT_TRUE(options.has_file()) << path << ": declare (param).file";
      if (options.file() == v1::FILE_PATH || options.file() == v1::NAME_OR_PATH) paths->push_back(path);
    } else {
      EXPECT_FALSE(field->options().GetExtension(v1::param).has_file()) << path << " is no text";
    }
  }
}

TEST(FileFieldsTest, EveryTextDeclaresWhetherItIsAFile) {
  std::vector<std::string> paths;
  ExpectDeclared(v1::TrialSpec::descriptor(), "", &paths);
  // Each of them set alone is seen, and what is seen is refused by its name.
  for (const std::string& path : paths) {
    v1::TrialSpec spec;
    const auto field = FieldPath::Parse(v1::TrialSpec::descriptor(), path).value();
    ASSERT_TRUE(field.SetText("/some/where", &spec).ok());
    std::vector<std::string> seen;
    const absl::Status status = CheckFilePaths(spec, [&seen](const std::string& value) {
      seen.push_back(value);
      return absl::InvalidArgumentError("not there");
    });
    EXPECT_THAT(seen, testing::ElementsAre("/some/where")) << path;
    EXPECT_EQ(std::string(status.message()), path + ": not there");
  }
  EXPECT_GE(paths.size(), 10u);
}

TEST(FileFieldsTest, DefaultsAreVisitedAndWhatIsSetIsCopied) {
  const v1::TrialSpec spec = TrialFrom("{seed: 3, data: {classification: {path: /rows, train_file: a.tsv}}}");
  std::vector<std::string> seen;
  VisitFileFields(spec, [&seen](const std::string& path, v1::FileUse use, const std::string& value) {
    seen.push_back(path + " " + v1::FileUse_Name(use) + " " + value);
  });
  EXPECT_THAT(seen, testing::UnorderedElementsAre("data.classification.path FILE_PATH /rows",
                                                  "data.classification.train_file FILE_NAME a.tsv",
                                                  "data.classification.validation_file FILE_NAME dev.tsv"));
  EXPECT_EQ(FileFieldsOf(spec).ShortDebugString(),
            "data { classification { path: \"/rows\" train_file: \"a.tsv\" } }");
}

TEST(FileFieldsTest, NamesStayInTheirFolder) {
  const auto check = [](const std::string& yaml) {
    return std::string(
        CheckFilePaths(TrialFrom(yaml), [](const std::string&) { return absl::OkStatus(); }).message());
  };
  EXPECT_EQ(check("{data: {text: {corpus: kjv, field: a/b, tokenizer: {gpt2: {vocab: gpt2}}}}}"), "");
  EXPECT_THAT(check("{data: {text: {corpus: ../../etc/passwd}}}"), testing::StartsWith("data.text.corpus: "));
  EXPECT_THAT(check("{data: {text: {tokenizer: {gpt2: {vocab: ../x}}}}}"),
              testing::StartsWith("data.text.tokenizer.gpt2.vocab: "));
  EXPECT_THAT(check("{data: {classification: {path: /d, train_file: ..}}}"),
              testing::StartsWith("data.classification.train_file: "));
}

}  // namespace
}  // namespace inlier
