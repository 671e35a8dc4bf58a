#include "cli/tables/table_printer.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/tables/table_writer.h"

namespace inlier {
namespace {

bool LocaleIsUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0')
      return strcasestr(value, "utf-8") != nullptr || strcasestr(value, "utf8") != nullptr;
  }
  return false;
}

}  // namespace

absl::Status PrintTable(Session& session, const std::string& sweep, const std::optional<v1::TableSpec>& spec,
                        const std::string& format) {
  std::optional<TableFormat> parsed = ParseTableFormat(session.json ? "json" : format);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", format, " is not known; use text, markdown, csv, latex or json"));
  }
  v1::BuildTableRequest request;
  request.set_sweep(sweep);
  if (spec.has_value()) *request.mutable_table() = *spec;
  ASSIGN_OR_RETURN(const v1::Table table, session.Call(&v1::SweepService::Stub::BuildTable, request, 120));
  TableStyle style;
  style.utf8 = *parsed != TableFormat::kText || LocaleIsUtf8();
  PrintExact(WriteTable(table, *parsed, style));
  return absl::OkStatus();
}

}  // namespace inlier
