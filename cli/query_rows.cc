#include "cli/query_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

std::string QueryValueText(const v1::QueryValue& value) {
  switch (value.value_case()) {
    case v1::QueryValue::kInteger:
      return absl::StrCat(value.integer());
    case v1::QueryValue::kReal:
      return absl::StrFormat("%.10g", value.real());
    case v1::QueryValue::kText:
      return value.text();
    case v1::QueryValue::kBlob:
      return absl::StrCat("x'", absl::BytesToHexString(value.blob()), "'");
    case v1::QueryValue::VALUE_NOT_SET:
      return "";
  }
  return "";
}

nlohmann::json ValueJson(const v1::QueryValue& value) {
  switch (value.value_case()) {
    case v1::QueryValue::kInteger:
      return value.integer();
    case v1::QueryValue::kReal:
      return value.real();
    case v1::QueryValue::VALUE_NOT_SET:
      return nullptr;
    default:
      return QueryValueText(value);
  }
}

std::string CsvText(const v1::QueryResponse& response) {
  std::string text;
  const auto append = [&text](const std::string& cell, bool first) {
    absl::StrAppend(&text, first ? "" : ",", CsvField(cell));
  };
  for (int i = 0; i < response.columns_size(); ++i) append(response.columns(i), i == 0);
  text += "\n";
  for (const v1::QueryRow& row : response.rows()) {
    for (int i = 0; i < row.values_size(); ++i) {
      const v1::QueryValue& value = row.values(i);
      append(value.has_real() ? FormatNumber(value.real()) : QueryValueText(value), i == 0);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

void PrintRows(const Session& session, const v1::QueryResponse& response, bool csv) {
  if (csv) return PrintData(CsvText(response));
  if (session.mode() == OutputMode::kJson) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const v1::QueryRow& row : response.rows()) {
      nlohmann::ordered_json object;
      for (int i = 0; i < row.values_size(); ++i) object[response.columns(i)] = ValueJson(row.values(i));
      out.push_back(std::move(object));
    }
    PrintJson(out);
    return;
  }
  TextTable table({response.columns().begin(), response.columns().end()});
  for (const v1::QueryRow& row : response.rows()) {
    std::vector<std::string> cells;
    for (const v1::QueryValue& value : row.values()) cells.push_back(QueryValueText(value));
    table.AddRow(std::move(cells));
  }
  Print(table.ToString());
}

std::string SqlText(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

}  // namespace inlier
