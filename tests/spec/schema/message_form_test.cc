// The form of a message changes with everything that changes what a program reads, and with nothing else.
#include "spec/schema/message_form.h"

#include <gtest/gtest.h>

#include <functional>

#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

// Of TrialSpec, after `change` of one file among those that it is made of.
std::string FormAfter(const std::string& file_name, const std::function<void(FileDescriptorProto&)>& change) {
  std::vector<const google::protobuf::FileDescriptor*> order;
  const std::function<void(const google::protobuf::FileDescriptor*)> add = [&](const auto* file) {
    for (const auto* known : order)
      if (known == file) return;
    for (int i = 0; i < file->dependency_count(); ++i) add(file->dependency(i));
    order.push_back(file);
  };
  add(v1::TrialSpec::descriptor()->file());
  DescriptorPool pool;
  bool changed = false;
  for (const auto* file : order) {
    FileDescriptorProto copy;
    file->CopyTo(&copy);
    if (file->name() == file_name) {
      change(copy);
      changed = true;
    }
    EXPECT_NE(pool.BuildFile(copy), nullptr) << file->name();
  }
  EXPECT_TRUE(changed) << file_name;
  const auto* message = pool.FindMessageTypeByName("inlier.v1.TrialSpec");
  return message == nullptr ? std::string() : FormDigest(*message);
}

TEST(MessageFormTest, TheFormIsStableAndOfItsMessage) {
  const std::string form = FormDigest(*v1::TrialSpec::descriptor());
  EXPECT_EQ(form.size(), 64u);
  EXPECT_EQ(form, FormDigest(*v1::TrialSpec::descriptor()));
  EXPECT_NE(form, FormDigest(*v1::CoordinatorConfig::descriptor()));
}

TEST(MessageFormTest, AFieldTypeOrDefaultOfAPartChangesIt) {
  constexpr char kPart[] = "inlier/v1/training_spec.proto";
  const std::string same = FormAfter(kPart, [](FileDescriptorProto&) {});
  EXPECT_NE(same, FormAfter(kPart, [](FileDescriptorProto& file) {
              auto* field = file.mutable_message_type(0)->add_field();
              field->set_name("another");
              field->set_number(9999);
              field->set_type(google::protobuf::FieldDescriptorProto::TYPE_UINT32);
              field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
            }));
  EXPECT_NE(same, FormAfter(kPart, [](FileDescriptorProto& file) {
              for (auto& message : *file.mutable_message_type()) {
                for (auto& field : *message.mutable_field()) {
                  if (field.type() != google::protobuf::FieldDescriptorProto::TYPE_UINT32) continue;
                  field.set_default_value("123456");
                  return;
                }
              }
              ADD_FAILURE() << "no such field";
            }));
  EXPECT_NE(same, FormAfter(kPart, [](FileDescriptorProto& file) {
              auto* added = file.add_enum_type();
              added->set_name("Another");
              auto* value = added->add_value();
              value->set_name("ANOTHER_VALUE");
              value->set_number(1);
            }));
}

}  // namespace
}  // namespace inlier
