#include "coordinator/services/request_limits.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"

namespace inlier {
namespace {

constexpr std::size_t kTagsAtOnceMax = 1000;

absl::Status AtMost(std::uint64_t count, std::size_t most, const std::string& where, const char* of_what,
                    const char* remedy) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": ", count, " ", of_what, "; at most ", most, " are taken; ", remedy));
}

absl::Status CheckText(const std::string& text, const std::string& where) {
  if (IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": byte ", ValidUtf8Prefix(text) + 1, " is not UTF-8; save it as UTF-8"));
}

absl::Status CheckLength(const std::string& text, const std::string& where,
                         std::size_t most = Limits::kNameBytesMax) {
  return AtMost(text.size(), most, where, "bytes", "shorten it");
}

absl::Status CheckName(const std::string& text, const std::string& where,
                       std::size_t most = Limits::kNameBytesMax) {
  RETURN_IF_ERROR(CheckText(text, where));
  return CheckLength(text, where, most);
}

absl::Status CheckProgress(const v1::Progress& progress, const std::string& where) {
  RETURN_IF_ERROR(CheckLength(progress.phase(), where + ".progress.phase"));
  return CheckLength(progress.trouble(), where + ".progress.trouble", Limits::kMessageBytesMax);
}

// The store keeps JSON, which has finite numbers only, and which protobuf reads to a limited depth.
absl::Status CheckValues(const google::protobuf::Message& message, const std::string& where, int depth = 0) {
  if (depth > Limits::kDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": values nested more than ", Limits::kDepthMax, " deep; make them flatter"));
  }
  if (message.GetDescriptor() == google::protobuf::Value::descriptor()) {
    const auto& value = static_cast<const google::protobuf::Value&>(message);
    if (value.has_number_value() && !std::isfinite(value.number_value()))
      return absl::InvalidArgumentError(absl::StrCat(where, ": a number is not finite; give a finite one"));
    if (!value.has_list_value() && !value.has_struct_value()) return absl::OkStatus();
  }
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string& path = depth == 0 ? std::string(field->name()) : where;
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(CheckValues(reflection.GetMessage(message, field), path, depth + 1));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      RETURN_IF_ERROR(CheckValues(reflection.GetRepeatedMessage(message, field, i), path, depth + 1));
  }
  return absl::OkStatus();
}

// Returns the size of the axis' largest value, in bytes of a trial's specification.
absl::StatusOr<std::size_t> CheckAxis(const v1::Axis& axis, const std::string& where) {
  RETURN_IF_ERROR(CheckName(axis.name(), where + ".name"));
  RETURN_IF_ERROR(CheckName(axis.field(), where + ".field"));
  for (const std::string& path : axis.zip()) RETURN_IF_ERROR(CheckName(path, where + ".zip"));
  RETURN_IF_ERROR(AtMost(axis.zip_size(), Limits::kAxesMax, where + ".zip", "paths", "split the sweep"));
  RETURN_IF_ERROR(AtMost(std::max(axis.values_size(), axis.variants_size()), Limits::kValuesMax, where,
                         "values", "split the sweep"));
  std::size_t largest = 0;
  for (const google::protobuf::Value& value : axis.values())
    largest = std::max(largest, value.ByteSizeLong());
  for (const v1::Variant& variant : axis.variants()) {
    RETURN_IF_ERROR(CheckName(variant.label(), where + ".variants.label"));
    largest = std::max(largest, variant.set().ByteSizeLong());
  }
  return largest;
}

absl::Status CheckSource(const v1::ProgramUse& program) {
  RETURN_IF_ERROR(CheckName(program.name(), "program.name"));
  RETURN_IF_ERROR(CheckName(program.digest(), "program.digest"));
  RETURN_IF_ERROR(CheckName(program.source().commit(), "program.source.commit"));
  return CheckName(program.source().diff(), "program.source.diff", Limits::kSourceBytesMax);
}

}  // namespace

absl::Status CheckLimits(const v1::SweepSpec& sweep) {
  RETURN_IF_ERROR(AtMost(sweep.ByteSizeLong(), Limits::kSweepBytesMax, "sweep", "bytes",
                         "split it, or give a range in place of values"));
  RETURN_IF_ERROR(CheckName(sweep.name(), "name"));
  RETURN_IF_ERROR(CheckName(sweep.group(), "group"));
  RETURN_IF_ERROR(CheckName(sweep.description(), "description", Limits::kTextBytesMax));
  RETURN_IF_ERROR(AtMost(sweep.axes_size(), Limits::kAxesMax, "axes", "axes", "split the sweep"));
  RETURN_IF_ERROR(AtMost(sweep.exclude_size(), Limits::kExclusionsMax, "exclude", "entries",
                         "give lists of labels in them, or split the sweep"));
  RETURN_IF_ERROR(AtMost(sweep.program().description().ByteSizeLong(), Limits::kTrialBytesMax, "program",
                         "bytes", "leave out parameters that no sweep changes"));
  RETURN_IF_ERROR(CheckSource(sweep.program()));
  for (const auto& [path, expression] : sweep.tied()) RETURN_IF_ERROR(CheckName(path, "tied"));
  std::size_t trial = sweep.base().ByteSizeLong();
  for (int i = 0; i < sweep.axes_size(); ++i) {
    ASSIGN_OR_RETURN(const std::size_t largest, CheckAxis(sweep.axes(i), absl::StrCat("axes[", i, "]")));
    trial += largest;
  }
  RETURN_IF_ERROR(AtMost(trial, Limits::kTrialBytesMax, "base and the largest value of each axis", "bytes",
                         "every trial keeps so much; shorten the texts in them"));
  RETURN_IF_ERROR(CheckValues(sweep, "sweep"));
  return CheckLimits(sweep.table());
}

absl::Status CheckLimits(const v1::TableSpec& table) {
  std::size_t conditions = 0;
  const auto count = [&conditions](const google::protobuf::Map<std::string, google::protobuf::Value>& where) {
    for (const auto& [name, wanted] : where)
      conditions += 1 + static_cast<std::size_t>(wanted.list_value().values_size());
  };
  count(table.where());
  for (const v1::TableColumn& column : table.columns()) {
    count(column.where());
    conditions += static_cast<std::size_t>(column.best_of().over_size() + column.mean_over_size());
    for (const google::protobuf::Value& entry : column.mean_of())
      conditions += 1 + static_cast<std::size_t>(entry.list_value().values_size());
  }
  RETURN_IF_ERROR(AtMost(conditions, Limits::kTableConditionsMax, "table.where and table.columns",
                         "conditions, names and values", "make several tables"));
  RETURN_IF_ERROR(AtMost(table.correlate_size(), Limits::kTableCorrelationsMax, "table.correlate",
                         "correlations", "make several tables"));
  RETURN_IF_ERROR(AtMost(table.columns_size(), Limits::kTableColumnsMax, "table.columns", "columns",
                         "make several tables"));
  return AtMost(table.rows_size(), Limits::kTableRowsMax, "table.rows", "axes",
                "a table has few row headings; leave some out");
}

absl::Status CheckLimits(const v1::WorkerSync& sync) {
  RETURN_IF_ERROR(AtMost(sync.slots_size(), Limits::kSlotsMax, "slots", "slots", "run several workers"));
  RETURN_IF_ERROR(AtMost(sync.attempts_size(), Limits::kAttemptsMax, "attempts", "attempts",
                         "a worker reports those that run"));
  RETURN_IF_ERROR(
      AtMost(sync.events_size(), Limits::kEventsMax, "events", "events", "send the rest with the next sync"));
  RETURN_IF_ERROR(CheckLength(sync.data_dir(), "data_dir", Limits::kPathBytesMax));
  for (const std::string* name :
       {&sync.incarnation(), &sync.name(), &sync.host(), &sync.version(), &sync.spec_form()})
    RETURN_IF_ERROR(CheckName(*name, "incarnation, name, host, version and spec_form"));
  for (const v1::Slot& slot : sync.slots()) RETURN_IF_ERROR(CheckLength(slot.device(), "slots.device"));
  for (const v1::AttemptReport& report : sync.attempts()) {
    RETURN_IF_ERROR(CheckName(report.stage_id(), "attempts.stage_id"));
    RETURN_IF_ERROR(CheckProgress(report.progress(), "attempts"));
  }
  RETURN_IF_ERROR(AtMost(sync.data_checked_size(), Limits::kAttemptsMax, "data_checked", "answers",
                         "a worker answers what it is asked"));
  for (const v1::DataChecked& checked : sync.data_checked()) {
    RETURN_IF_ERROR(CheckLength(checked.problem(), "data_checked.problem", Limits::kMessageBytesMax));
    RETURN_IF_ERROR(CheckName(checked.digest(), "data_checked.digest"));
  }
  for (const v1::NumberedEvent& numbered : sync.events()) {
    const v1::TrialEvent& event = numbered.event();
    RETURN_IF_ERROR(CheckProgress(event.progress(), "events"));
    if (event.has_started()) {
      const v1::Started& started = event.started();
      for (const std::string* text : {&started.build(), &started.torch_version(), &started.cuda_version(),
                                      &started.device(), &started.host(), &started.dataset_digest()})
        RETURN_IF_ERROR(CheckLength(*text, "events.started", Limits::kProvenanceBytesMax));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWords(const v1::StoreAnalysisRequest& request) {
  for (const auto& [text, where] :
       {std::pair(&request.model(), "model"), std::pair(&request.model_sha256(), "model_sha256"),
        std::pair(&request.spec_json(), "spec_json")})
    RETURN_IF_ERROR(CheckName(*text, where, Limits::kTextBytesMax));
  RETURN_IF_ERROR(AtMost(request.numbers_size(), kAnalysisNumbersMax, "numbers", "numbers",
                         "analyse fewer settings at once"));
  for (const v1::AnalysisNumber& number : request.numbers()) {
    for (const std::string* text : {&number.setting(), &number.name(), &number.site()})
      RETURN_IF_ERROR(CheckName(*text, "numbers"));
  }
  return CheckName(request.request_id(), "request_id");
}

absl::Status CheckWords(const v1::LabelSweepRequest& request) {
  RETURN_IF_ERROR(CheckText(request.note(), "note"));
  RETURN_IF_ERROR(CheckLength(request.note(), "note", Limits::kTextBytesMax));
  for (const auto* tags : {&request.add_tags(), &request.remove_tags()}) {
    RETURN_IF_ERROR(AtMost(tags->size(), kTagsAtOnceMax, "tags", "tags", "change fewer at once"));
    for (const std::string& tag : *tags) RETURN_IF_ERROR(CheckName(tag, "tags"));
  }
  v1::LabelSweepRequest words = request;
  words.clear_note();
  return CheckWords(static_cast<const google::protobuf::Message&>(words));
}

absl::Status CheckWords(const google::protobuf::Message& request) {
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_repeated() || field.type() != google::protobuf::FieldDescriptor::TYPE_STRING ||
        field.name() == "sql")
      continue;
    std::string scratch;
    const std::string& text = reflection.GetStringReference(request, &field, &scratch);
    RETURN_IF_ERROR(CheckText(text, std::string(field.name())));
    RETURN_IF_ERROR(AtMost(text.size(), Limits::kWordBytesMax, std::string(field.name()), "bytes",
                           "give an id such as s-12, or a name"));
  }
  return absl::OkStatus();
}

}  // namespace inlier
