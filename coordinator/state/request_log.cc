#include "coordinator/state/request_log.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"

namespace inlier {

absl::Status CheckRequestId(const std::string& id) {
  constexpr std::size_t kBytesMax = 256;
  if (id.size() <= kBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("request_id may have ", kBytesMax, " bytes; a uuid has 36"));
}

std::string ContentDigest(const google::protobuf::Message& content) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    content.SerializeToCodedStream(&coded);
  }
  return Sha256Hex(bytes);
}

void RequestLog::Remember(RequestRow row) {
  INLIER_CHECK(row.number > last_);
  last_ = row.number;
  INLIER_CHECK(number_of_.emplace(row.id, row.number).second);
  rows_.emplace(row.number, std::move(row));
  while (rows_.begin()->first + kRequestsKept <= last_) {
    number_of_.erase(rows_.begin()->second.id);
    rows_.erase(rows_.begin());
  }
}

const RequestRow* RequestLog::Find(const std::string& id) const {
  const auto at = number_of_.find(id);
  return at == number_of_.end() ? nullptr : &rows_.at(at->second);
}

RequestRow RequestLog::Add(const std::string& id, const std::string& method, const std::string& digest,
                           std::string answer, WallTime at) {
  RequestRow row{.number = last_ + 1,
                 .id = id,
                 .method = method,
                 .digest = digest,
                 .answer = std::move(answer),
                 .at = at};
  if (INLIER_BUG("answer_of_a_request_not_kept")) row.answer.clear();
  Remember(row);
  return row;
}

}  // namespace inlier
