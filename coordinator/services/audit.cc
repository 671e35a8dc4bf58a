#include "coordinator/services/audit.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "coordinator/state/lookup.h"
#include "coordinator/state/request_log.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kTextBytesMax = 200;  // Of the request and of the reason.
constexpr std::size_t kCallersMax = 10'000;
constexpr int kDepthMax = 2;  // Of messages in the request.

std::string Short(std::string_view text) {
  return std::string(CutUtf8(ReplaceInvalidUtf8(text.substr(0, 4 * kTextBytesMax)), kTextBytesMax));
}

bool IsMessage(const FieldDescriptor* field) { return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

// The set fields that are not repeated, messages last but the program, whose digest must not be cut off: `sweep: "gamma", spec: {group:
// "nlp"}`.
std::string FieldsOf(const Message& message, int depth = 0) {
  std::string text;
  std::vector<const FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  std::stable_partition(fields.begin(), fields.end(), [](const auto* field) { return !IsMessage(field); });
  std::stable_partition(fields.begin(), fields.end(),
                        [](const auto* field) { return field->name() == "program"; });
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->name() == "request_id" || text.size() > kTextBytesMax) continue;
    std::string value;
    if (IsMessage(field)) {
      if (depth == kDepthMax) continue;
      value = absl::StrCat("{", FieldsOf(reflection.GetMessage(message, field), depth + 1), "}");
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      std::string scratch;
      const std::string& word = reflection.GetStringReference(message, field, &scratch);
      value = IsSha256Hex(word) ? absl::StrCat("\"", word, "\"") : Quoted(word);  // A digest is whole.
    } else {
      google::protobuf::TextFormat::PrintFieldValueToString(message, field, -1, &value);
    }
    absl::StrAppend(&text, text.empty() ? "" : ", ", field->name(), ": ", value);
  }
  return text;
}

// The text of this field; empty if there is none.
std::string TextOf(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
    return "";
  return message.GetReflection()->GetString(message, field);
}

}  // namespace

AuditRow Audit::RowOf(const Caller& caller, const char* method, const Message* request) {
  AuditRow row{.caller = caller.name, .role = caller.role, .peer = caller.peer, .method = method};
  if (request == nullptr) return row;
  row.request = Short(FieldsOf(*request));
  row.digest = ContentDigest(*request);
  return row;
}

void Audit::NameSubject(const State& state, const Message& message, AuditRow& row) {
  for (const char* field : {"sweep", "sweep_id"}) {
    const std::string name = TextOf(message, field);
    if (name.empty()) continue;
    if (const std::optional<SweepId> sweep = FindAnySweep(state, name, row.caller)) row.sweep = *sweep;
  }
  if (const std::string name = TextOf(message, "trial"); !name.empty()) {
    if (const absl::StatusOr<TrialId> trial = FindTrial(state, name); trial.ok()) {
      row.trial = *trial;
      row.sweep = state.trials.at(*trial).sweep;
    }
  }
  if (const std::string name = TextOf(message, "worker"); !name.empty()) {
    if (const absl::StatusOr<std::string> worker = FindWorker(state, name); worker.ok()) row.worker = *worker;
  }
}

void Audit::Add(AuditRow row, const absl::Status& outcome, Moment now, bool has_space, Effects& effects) {
  if (!outcome.ok() && !Takes(row, now.at, has_space)) return;
  row.at = now.wall;
  row.outcome = absl::StatusCodeToString(outcome.code());
  row.message = Short(std::string(outcome.message()));
  effects.changes.Add(std::move(row));
}

bool Audit::Takes(AuditRow& row, Timestamp now, bool has_space) {
  const std::lock_guard lock(mutex_);
  const bool known = refusals_.size() < kCallersMax || refusals_.contains(row.caller);
  const auto [at, is_new] = refusals_.try_emplace(known ? row.caller : "");
  Refusals& refusals = at->second;
  if (!is_new) {
    refusals.rows_left = std::min<double>(
        kRefusalsAtOnce, refusals.rows_left + ToSeconds(now - refusals.filled) / ToSeconds(kRefusalPeriod));
  }
  refusals.filled = now;
  if (!has_space || refusals.rows_left < 1) {
    ++refusals.counted;
    return false;
  }
  refusals.rows_left -= 1;
  row.calls = 1 + std::exchange(refusals.counted, 0);
  return true;
}

}  // namespace inlier
