// The estimate is compared with the memory that protobuf reports for the parsed message, and amplifying bytes
// are refused unparsed.
#include "rpc/unpacked_size.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <string>

#include "inlier/v1/artifact_service.pb.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

template <typename Message>
absl::StatusOr<std::size_t> SizeOf(const std::string& bytes, std::size_t most = kUnpackedBytesMax) {
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  return UnpackedSize(*Message::descriptor(), in, most);
}

// The estimate is never less than two thirds of what the message takes, and never more than twice as much.
template <typename Message>
void ExpectNear(const Message& message) {
  const std::string bytes = message.SerializeAsString();
  const auto size = SizeOf<Message>(bytes).value();
  Message parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const auto used = static_cast<double>(parsed.SpaceUsedLong());
  EXPECT_GT(static_cast<double>(size), 0.66 * used);
  EXPECT_LT(static_cast<double>(size), 2.0 * used + 1000);
}

v1::SubmitSweepRequest SweepOf(int values) {
  v1::SubmitSweepRequest request;
  v1::SweepSpec& sweep = *request.mutable_sweep();
  sweep.set_name("a sweep with a name that needs room of its own");
  v1::Axis& axis = *sweep.add_axes();
  axis.set_field("seed");
  for (int i = 0; i < values; ++i) {
    if (i % 2 == 0) axis.add_values()->set_number_value(i);
    if (i % 2 == 1) axis.add_values()->set_string_value("a label that is longer than most");
  }
  return request;
}

TEST(UnpackedSizeTest, IsNearWhatTheMessageTakes) {
  ExpectNear(v1::SubmitSweepRequest());
  ExpectNear(SweepOf(10'000));
  v1::SubmitSweepRequest nested;
  google::protobuf::Value* value = nested.mutable_sweep()->add_axes()->add_values();
  for (int i = 0; i < 1000; ++i)
    (*value->mutable_struct_value()->mutable_fields())["key" + std::to_string(i)].set_bool_value(true);
  ExpectNear(nested);
  v1::WorkerSync sync;
  for (int i = 0; i < 1000; ++i) {
    v1::NumberedEvent& event = *sync.add_events();
    event.set_sequence(i);
    event.set_token(7);
    event.mutable_event()->mutable_measurement()->set_name("perplexity");
    event.mutable_event()->mutable_measurement()->set_value(1.5);
    sync.add_attempts()->set_stage_id("st-1");
  }
  ExpectNear(sync);
}

TEST(UnpackedSizeTest, MessageAtTheLimitOfItsBytesIsTaken) {
  v1::SubmitSweepRequest request = SweepOf(0);
  for (std::size_t bytes = 0; bytes < (8u << 20) - 10'000;) {
    v1::Axis& axis = *request.mutable_sweep()->add_axes();
    for (int i = 0; i < 100; ++i) axis.add_values()->set_number_value(i + 0.5);
    bytes += axis.ByteSizeLong() + 3;
  }
  EXPECT_GT(request.ByteSizeLong(), (8u << 20) - 20'000);
  EXPECT_TRUE(SizeOf<v1::SubmitSweepRequest>(request.SerializeAsString()).ok());
}

std::string Tag(int number, int type) {
  std::string bytes;
  for (unsigned tag = static_cast<unsigned>(number << 3 | type);; tag >>= 7) {
    bytes += static_cast<char>(tag > 127 ? (tag & 127) | 128 : tag);
    if (tag <= 127) return bytes;
  }
}
std::string Repeated(const std::string& part, std::size_t bytes) {
  std::string all;
  all.reserve(bytes + part.size());
  while (all.size() < bytes) all += part;
  return all;
}
std::string Inside(int number, const std::string& bytes) {
  std::string all = Tag(number, 2);
  std::size_t length = bytes.size();
  for (; length > 127; length >>= 7) all += static_cast<char>((length & 127) | 128);
  all += static_cast<char>(length);
  return all + bytes;
}

TEST(UnpackedSizeTest, BytesThatUnpackToMuchAreRefusedWithTheLimitAndTheRemedy) {
  constexpr std::size_t kBytes = 8 << 20;
  const int axes = v1::SweepSpec::kAxesFieldNumber, sweep = v1::SubmitSweepRequest::kSweepFieldNumber;
  const std::string empty_message = Tag(axes, 2) + std::string(1, '\0');
  // An axis with an empty name, and so on: every part of every kind costs something.
  const std::string inputs[] = {
      Inside(sweep, Repeated(empty_message, kBytes)),  // Sub-messages.
      Inside(sweep, Inside(axes, Repeated(Tag(v1::Axis::kZipFieldNumber, 2) + '\0', kBytes))),  // Texts.
      Repeated(Tag(2000, 0) + '\1', 3 * kBytes),                                       // Unknown numbers.
      Repeated(Tag(1999, 2) + '\0', kBytes),                                           // Unknown texts.
      Repeated(Tag(v1::SubmitSweepRequest::kMaxTrialsFieldNumber, 2) + '\0', kBytes),  // Texts for a number.
  };
  for (const std::string& bytes : inputs) {
    EXPECT_THAT(SizeOf<v1::SubmitSweepRequest>(bytes),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         testing::AllOf(HasSubstr("SubmitSweepRequest"), HasSubstr("more than 64 MiB"),
                                        HasSubstr("split it"))))
        << bytes.substr(0, 8);
  }
}

TEST(UnpackedSizeTest, DamagedBytesAndDeepOnesAreRefused) {
  EXPECT_FALSE(SizeOf<v1::SubmitSweepRequest>(std::string("\x0a\x7f", 2)).ok());   // Ends too early.
  EXPECT_FALSE(SizeOf<v1::SubmitSweepRequest>(std::string("\x07", 1)).ok());       // No such wire type.
  EXPECT_FALSE(SizeOf<v1::SubmitSweepRequest>(Tag(1998, 3) + Tag(1998, 4)).ok());  // A group.
  std::string deep;
  for (int i = 0; i < 1000; ++i)
    deep = Inside(google::protobuf::Value::kListValueFieldNumber, Inside(1, deep));
  const int values = v1::Axis::kValuesFieldNumber, axes = v1::SweepSpec::kAxesFieldNumber;
  EXPECT_FALSE(SizeOf<v1::SubmitSweepRequest>(
                   Inside(v1::SubmitSweepRequest::kSweepFieldNumber, Inside(axes, Inside(values, deep))))
                   .ok());
}

}  // namespace
}  // namespace inlier
