#include "rpc/methods.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// The coordinator's programs end at their first call of Methods() where an rpc has no role.
TEST(MethodsTest, EveryRpcHasARoleAndANameOfItsOwn) {
  std::set<std::string> names;
  for (const Method& method : Methods()) EXPECT_TRUE(names.insert(method.name).second) << method.name;
  for (const char* one : {"PauseSweep", "Sync", "Collect"}) EXPECT_TRUE(names.contains(one)) << one;
}

TEST(MethodsTest, TheOptionsOfTheRpcSayWhoMayCallItAndWhatItDoes) {
  const Method* query = FindMethod("Query");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->role, Role::kRead);
  EXPECT_FALSE(query->changes);
  const Method* pause = FindMethod("PauseSweep");
  ASSERT_NE(pause, nullptr);
  EXPECT_EQ(pause->role, Role::kSubmit);
  EXPECT_TRUE(pause->changes);
  EXPECT_FALSE(pause->runs_programs);
  const Method* fleet = FindMethod("SetFleet");
  ASSERT_NE(fleet, nullptr);
  EXPECT_EQ(fleet->role, Role::kAdmin);
  EXPECT_TRUE(fleet->runs_programs);
  EXPECT_EQ(FindMethod("Session")->role, Role::kWork);
  EXPECT_EQ(FindMethod("Nothing"), nullptr);
}

TEST(MethodsTest, AnRpcWithoutARoleIsNamed) {
  google::protobuf::FileDescriptorProto file;
  file.set_name("bare.proto");
  file.set_package("bare");
  file.add_message_type()->set_name("Question");
  auto& service = *file.add_service();
  service.set_name("Bare");
  auto& method = *service.add_method();
  method.set_name("Ask");
  method.set_input_type("Question");
  method.set_output_type("Question");
  google::protobuf::DescriptorPool pool;
  const google::protobuf::FileDescriptor* built = pool.BuildFile(file);
  ASSERT_NE(built, nullptr);
  const absl::Status status = MethodsOf(*built->service(0)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bare.Bare.Ask has no role")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("bare.proto"));
}

}  // namespace
}  // namespace inlier
