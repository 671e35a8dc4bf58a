// The form of a file of records, rows whose values have names, by the ending of its name.
#ifndef INLIER_BASE_DATA_RECORD_FORM_H_
#define INLIER_BASE_DATA_RECORD_FORM_H_

#include <optional>
#include <string_view>

namespace inlier {

enum class RecordForm {
  kTabs,       // .tsv: cells between tabs, where a quotation mark is text, as in GLUE's files.
  kCommas,     // .csv: RFC 4180.
  kJsonLines,  // .jsonl: an object a line, or one array of objects.
  kJson,       // .json: one array of objects, or objects one after another.
};

// nullopt for any other name.
inline std::optional<RecordForm> RecordFormOf(std::string_view path) {
  if (path.ends_with(".tsv")) return RecordForm::kTabs;
  if (path.ends_with(".csv")) return RecordForm::kCommas;
  if (path.ends_with(".jsonl")) return RecordForm::kJsonLines;
  if (path.ends_with(".json")) return RecordForm::kJson;
  return std::nullopt;
}

inline bool IsJson(RecordForm form) { return form == RecordForm::kJsonLines || form == RecordForm::kJson; }

}  // namespace inlier

#endif  // INLIER_BASE_DATA_RECORD_FORM_H_
