#include "spec/schema/descriptor_comments.h"

#include <memory>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/struct.pb.h"

extern "C" {
extern const char inlier_descriptors_begin[];
extern const char inlier_descriptors_end[];
}

namespace inlier {
namespace {

using google::protobuf::DescriptorPool;

// The set has inlier's files alone; those of protobuf that they import come from the program itself.
std::unique_ptr<DescriptorPool> BuildPool() {
  auto pool = std::make_unique<DescriptorPool>();
  for (const google::protobuf::FileDescriptor* file :
       {google::protobuf::FileDescriptorProto::descriptor()->file(),
        google::protobuf::Struct::descriptor()->file()}) {
    google::protobuf::FileDescriptorProto copy;
    file->CopyTo(&copy);
    INLIER_CHECK(pool->BuildFile(copy) != nullptr);
  }
  google::protobuf::FileDescriptorSet set;
  INLIER_CHECK(set.ParseFromArray(inlier_descriptors_begin,
                                  static_cast<int>(inlier_descriptors_end - inlier_descriptors_begin)));
  for (const google::protobuf::FileDescriptorProto& file : set.file()) {
    INLIER_CHECK(pool->BuildFile(file) != nullptr);
  }
  return pool;
}

std::string OneLine(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n\t\r"), absl::SkipEmpty()), " ");
}

template <typename DescriptorType>
std::string CommentOfDescriptor(const DescriptorType* descriptor) {
  google::protobuf::SourceLocation location;
  if (descriptor == nullptr || !descriptor->GetSourceLocation(&location)) return "";
  const std::string trailing = OneLine(location.trailing_comments);
  return trailing.empty() ? OneLine(location.leading_comments) : trailing;
}

}  // namespace

std::string CommentOf(const std::string& full_name) {
  static const std::unique_ptr<DescriptorPool> built = BuildPool();
  const DescriptorPool& pool = *built;
  if (const auto* field = pool.FindFieldByName(full_name)) return CommentOfDescriptor(field);
  if (const auto* message = pool.FindMessageTypeByName(full_name)) return CommentOfDescriptor(message);
  if (const auto* value = pool.FindEnumValueByName(full_name)) return CommentOfDescriptor(value);
  return CommentOfDescriptor(pool.FindOneofByName(full_name));
}

}  // namespace inlier
