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
  if (value.has_integer()) return absl::StrCat(value.integer());
  if (value.has_real()) return absl::StrFormat("%.10g", value.real());
  if (value.has_blob()) return absl::StrCat("x'", absl::BytesToHexString(value.blob()), "'");
  return value.text();
}

std::string CsvText(const v1::QueryResponse& response) {
  std::string text;
  const auto append = [&text](const std::string& cell, bool first) {
    absl::StrAppend(&text, first ? "" : ",", CsvField(cell));
  };
  for (int i = 0; i < response.columns_size(); ++i) append(response.columns(i), i == 0);
  text += "\n";
  for (const v1::QueryRow& row : response.rows()) {
    for (int i = 0; i < row.values_size(); ++i) append(ExactText(row.values(i)), i == 0);
    text += "\n";
  }
  return text;
}

}  // namespace

absl::StatusOr<v1::QueryResponse> QueryRows(Session& session, const std::string& sql,
                                            std::uint32_t max_rows) {
  v1::QueryRequest request;
  request.set_sql(sql);
  if (max_rows > 0) request.set_max_rows(max_rows);
  return session.Call(&v1::SweepService::Stub::Query, request, 120);
}

std::string ExactText(const v1::QueryValue& value) {
  return value.has_real() ? FormatNumber(value.real()) : QueryValueText(value);
}

nlohmann::json JsonOf(const v1::QueryValue& value) {
  if (value.has_integer()) return value.integer();
  if (value.has_real()) return value.real();
  if (value.value_case() == v1::QueryValue::VALUE_NOT_SET) return nullptr;
  return QueryValueText(value);
}

void PrintRows(const Session& session, const v1::QueryResponse& response, bool csv) {
  if (csv) return PrintData(CsvText(response));
  if (session.mode() == OutputMode::kJson) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const v1::QueryRow& row : response.rows()) {
      nlohmann::ordered_json object;
      for (int i = 0; i < row.values_size(); ++i) object[response.columns(i)] = JsonOf(row.values(i));
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
