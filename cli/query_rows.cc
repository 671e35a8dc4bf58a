#include "cli/query_rows.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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
  const auto name = [](std::string* text, const std::string& column) { *text += CsvField(column); };
  const auto cell = [](std::string* text, const v1::QueryValue& value) {
    *text += CsvField(ExactText(value));
  };
  std::string text = absl::StrJoin(response.columns(), ",", name) + "\n";
  for (const v1::QueryRow& row : response.rows())
    absl::StrAppend(&text, absl::StrJoin(row.values(), ",", cell), "\n");
  return text;
}

nlohmann::json JsonOf(const v1::QueryValue& value) {
  if (value.has_integer()) return value.integer();
  if (value.has_real()) return value.real();
  if (value.value_case() == v1::QueryValue::VALUE_NOT_SET) return nullptr;
  return QueryValueText(value);
}

}  // namespace

absl::StatusOr<v1::QueryResponse> QueryRows(Session& session, const std::string& sql,
                                            std::uint32_t max_rows) {
  v1::QueryRequest request;
  request.set_sql(sql);
  if (max_rows > 0) request.set_max_rows(max_rows);
  return session.Call(&SweepStub::Query, request, 120);
}

std::string ExactText(const v1::QueryValue& value) {
  return value.has_real() ? FormatNumber(value.real()) : QueryValueText(value);
}

nlohmann::ordered_json RowsJson(const v1::QueryResponse& response) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const v1::QueryRow& row : response.rows()) {
    nlohmann::ordered_json& object = rows.emplace_back(nlohmann::ordered_json::object());
    for (int i = 0; i < row.values_size(); ++i) object[response.columns(i)] = JsonOf(row.values(i));
  }
  return rows;
}

void PrintRows(const Session& session, const v1::QueryResponse& response, bool csv) {
  if (csv) return PrintData(CsvText(response));
  if (session.json) return PrintJson(RowsJson(response));
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

std::string SqlList(const std::vector<std::string>& texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, const std::string& text) { *out += SqlText(text); });
}

}  // namespace inlier
