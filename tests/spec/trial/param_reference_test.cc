#include "spec/trial/param_reference.h"

#include <fstream>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "inlier/v1/param_options.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/descriptor_comments.h"
#include "spec/schema/field_path.h"
#include "tests/spec/frozen_fields.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::string FileText(const std::string& name) {
  std::ifstream file(INLIER_SOURCE_DIR "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const ParamInfo& ParamNamed(const std::string& path) {
  for (const ParamInfo& info : TrialParams()) {
    if (info.path == path) return info;
  }
  static const ParamInfo none;
  ADD_FAILURE() << "no parameter " << path;
  return none;
}

// Calls `check` with every field below TrialSpec.
template <typename Check>
void ForEachField(const Descriptor* type, const Check& check) {
  for (int i = 0; i < type->field_count(); ++i) {
    if (IsMade(type->field(i))) continue;
    check(type->field(i));
    if (type->field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      ForEachField(type->field(i)->message_type(), check);
  }
}

TEST(ParamReferenceTest, LeavesHaveSimpleTypesAndNothingRepeats) {
  const std::set<FieldDescriptor::Type> allowed = {FieldDescriptor::TYPE_BOOL,   FieldDescriptor::TYPE_INT32,
                                                   FieldDescriptor::TYPE_UINT32, FieldDescriptor::TYPE_DOUBLE,
                                                   FieldDescriptor::TYPE_STRING, FieldDescriptor::TYPE_ENUM,
                                                   FieldDescriptor::TYPE_MESSAGE};
  ForEachField(v1::TrialSpec::descriptor(), [&](const FieldDescriptor* field) {
    EXPECT_TRUE(allowed.count(field->type())) << field->full_name() << " is " << field->type_name();
    EXPECT_FALSE(field->is_repeated())
        << field->full_name() << ": merging appends to lists; give each its own field";
  });
}

TEST(ParamReferenceTest, EveryFieldHasAComment) {
  ForEachField(v1::TrialSpec::descriptor(), [](const FieldDescriptor* field) {
    EXPECT_FALSE(CommentOf(field->full_name()).empty() &&
                 (field->message_type() == nullptr || CommentOf(field->message_type()->full_name()).empty()))
        << field->full_name() << " has no comment";
  });
}

TEST(ParamReferenceTest, EveryNumberHasARangeOrSaysUnbounded) {
  ForEachField(v1::TrialSpec::descriptor(), [](const FieldDescriptor* field) {
    const bool number = field->cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
                        field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                        field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    const v1::ParamOptions& param = field->options().GetExtension(v1::param);
    if (number) {
      EXPECT_TRUE(param.has_min() || param.has_max() || param.unbounded()) << field->full_name();
    }
    if (param.has_min() && param.has_max()) {
      EXPECT_LE(param.min(), param.max()) << field->full_name();
    }
  });
}

TEST(ParamReferenceTest, DefaultsAreInTheirRange) {
  ForEachField(v1::TrialSpec::descriptor(), [](const FieldDescriptor* field) {
    if (!field->has_default_value()) return;
    const v1::ParamOptions& param = field->options().GetExtension(v1::param);
    const double value = field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ? field->default_value_double()
                         : field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32
                             ? field->default_value_uint32()
                             : param.min();
    if (param.has_min()) {
      EXPECT_TRUE(param.exclusive_min() ? value > param.min() : value >= param.min()) << field->full_name();
    }
    if (param.has_max()) {
      EXPECT_TRUE(param.exclusive_max() ? value < param.max() : value <= param.max()) << field->full_name();
    }
  });
}

TEST(ParamReferenceTest, EveryChoiceIsRequiredOrHasADefaultMember) {
  std::set<const Descriptor*> types = {v1::TrialSpec::descriptor()};
  ForEachField(v1::TrialSpec::descriptor(), [&](const FieldDescriptor* field) {
    if (field->message_type() != nullptr) types.insert(field->message_type());
  });
  for (const Descriptor* type : types) {
    for (int i = 0; i < type->oneof_decl_count(); ++i) {
      const v1::ChoiceOptions& choice = type->oneof_decl(i)->options().GetExtension(v1::choice);
      EXPECT_NE(choice.required(), choice.has_default_member()) << type->oneof_decl(i)->full_name();
      if (!choice.has_default_member()) continue;
      const FieldDescriptor* member = type->FindFieldByName(choice.default_member());
      ASSERT_NE(member, nullptr) << choice.default_member();
      EXPECT_EQ(member->containing_oneof(), type->oneof_decl(i)) << choice.default_member();
    }
  }
}

TEST(ParamReferenceTest, ReleasedFieldsKeepTheirNumberTypeAndDefault) {
  std::set<std::string> now;
  std::istringstream lines(FrozenFields());
  for (std::string line; std::getline(lines, line);) now.insert(line);
  std::istringstream frozen(FileText("tests/spec/frozen_fields.txt"));
  int count = 0;
  for (std::string line; std::getline(frozen, line); ++count) {
    EXPECT_TRUE(now.count(line))
        << "released, and changed or gone: " << line
        << "\nPeople's files, databases and fingerprints rely on it; add a new field instead.";
  }
  EXPECT_GT(count, 70);
  EXPECT_TRUE(FileText("tests/spec/frozen_fields.txt") == FrozenFields())
      << "new fields: run ninja -C <build> update_reference";
}

TEST(ParamReferenceTest, ThePageIsUpToDate) {
  EXPECT_TRUE(FileText("docs/reference/parameters.md") == ParamsMarkdown())
      << "run: ninja -C <build> update_reference";
}

TEST(ParamReferenceTest, DescribesALeaf) {
  const ParamInfo& gamma = ParamNamed("attention.softmax.clipped.gamma");
  EXPECT_EQ(gamma.type, "number");
  EXPECT_EQ(gamma.range, "from -10 to 0");
  EXPECT_EQ(gamma.symbol, "\\gamma");
  EXPECT_EQ(gamma.column, "gamma");
  EXPECT_EQ(gamma.comment, "Lower stretch limit.");
  EXPECT_EQ(gamma.choice, "attention.softmax.clipped.lower");
  const ParamInfo& precision = ParamNamed("training.precision");
  EXPECT_EQ(precision.type, "FLOAT32 | BFLOAT16");
  EXPECT_EQ(precision.default_text, "FLOAT32");
  EXPECT_TRUE(ParamNamed("model.bert.layers").required);
  EXPECT_TRUE(ParamNamed("training.measure_every").incidental);
}

TEST(ParamReferenceTest, DescribesAChoice) {
  const ParamInfo& softmax = ParamNamed("attention.softmax");
  EXPECT_TRUE(softmax.is_group);
  EXPECT_THAT(softmax.type, testing::StartsWith("choice: vanilla | clipped | ncs | "));
  EXPECT_EQ(softmax.default_text, "vanilla");
  EXPECT_EQ(softmax.column, "softmax");
  EXPECT_EQ(ParamNamed("attention.softmax.vanilla").choice, "attention.softmax.kind");
}

TEST(ParamReferenceTest, TextForATerminalIsFilteredByAllWords) {
  EXPECT_EQ(ParamsText(ParamsWith("weight_bits BITS")),
            "quantization.weights.bits\n"
            "    integer; from 2 to 16; default 8\n"
            "    Bits of every quantized weight.\n");
  EXPECT_EQ(ParamsText(ParamsWith("no such thing")), "");
  EXPECT_THAT(
      ParamsText(ParamsWith("")),
      ::testing::HasSubstr("\ntraining.steps\n    integer; from 1 to 1000000000\n    Optimizer updates.\n"));
  std::istringstream lines(ParamsText(ParamsWith(""), 80));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
}

}  // namespace
}  // namespace inlier
