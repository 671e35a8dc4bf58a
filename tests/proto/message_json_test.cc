// The writer against protobuf's own: the same text where numbers are spelt alike, the same message when read
// back.
#include "proto/spec/message_json.h"

#include <limits>
#include <string>

#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "nlohmann/json.hpp"
#include "proto/spec/sweep_reader.h"
#include "sweeps_page.h"

namespace inlier {
namespace {

using google::protobuf::Message;
using google::protobuf::util::MessageDifferencer;

nlohmann::json ByProtobuf(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &text, options).ok());
  return nlohmann::json::parse(text);
}

void ExpectSame(const Message& message) {
  const std::string text = MessageJson(message);
  EXPECT_EQ(nlohmann::json::parse(text), ByProtobuf(message));
  const std::unique_ptr<Message> read(message.New());
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, read.get()).ok()) << text;
  EXPECT_TRUE(MessageDifferencer::Equals(*read, message)) << text;
}

TEST(MessageJsonTest, EveryShippedSweepIsWrittenAsProtobufWritesIt) {
  for (const auto& file : SweepFiles(INLIER_SOURCE_DIR)) {
    SCOPED_TRACE(file.string());
    const auto sweep = ReadSweepFile(file);
    ASSERT_TRUE(sweep.ok()) << sweep.status();
    ExpectSame(*sweep);
  }
}

TEST(MessageJsonTest, ValuesStandForThemselves) {
  v1::SweepSpec sweep;
  sweep.set_name(
      "a \"name\"\n\\ of Gr\xc3\xb6\xc3\x9f"
      "e");
  v1::Axis& axis = *sweep.add_axes();
  axis.add_values()->set_number_value(-1e-300);
  axis.add_values()->set_bool_value(true);
  axis.add_values()->set_bool_value(false);
  axis.add_values()->set_null_value(google::protobuf::NULL_VALUE);
  axis.add_values()->set_string_value("");
  auto& list = *axis.add_values()->mutable_list_value();
  list.add_values()->set_number_value(2000);
  list.add_values()->mutable_list_value();
  auto& group = *axis.add_values()->mutable_struct_value();
  (*group.mutable_fields())["b"].set_number_value(0.1);
  (*group.mutable_fields())["a"].mutable_struct_value();
  (*sweep.add_exclude()->mutable_match())["seed"].set_number_value(1);
  ExpectSame(sweep);
  EXPECT_NE(MessageJson(sweep).find(R"([-1e-300,true,false,null,"",[2000,[]],{"a":{},"b":0.1}])"),
            std::string::npos)
      << MessageJson(sweep);
}

TEST(MessageJsonTest, LargeIntegersEnumsAndRepeatedMessagesReadBackTheSame) {
  v1::CoordinatorSync sync;
  sync.set_sync_id(std::numeric_limits<std::uint64_t>::max());
  sync.set_pushed(false);
  for (const auto kind : {v1::TRAIN_STAGE, v1::EVALUATE_STAGE}) {
    v1::Assignment& assignment = *sync.add_desired();
    assignment.set_token(1);
    assignment.set_kind(kind);
  }
  sync.add_stop()->set_reason("withdrawn");
  ExpectSame(sync);
}

TEST(MessageJsonTest, NumbersThatAreNotFiniteAreStrings) {
  v1::MeasurementPoint point;
  point.set_value(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(MessageJson(point), R"({"value":"-Infinity"})");
  point.set_value(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(MessageJson(point), R"({"value":"NaN"})");
}

TEST(MessageJsonTest, NothingSaidIsAnEmptyObject) { EXPECT_EQ(MessageJson(v1::SweepSpec()), "{}"); }

}  // namespace
}  // namespace inlier
