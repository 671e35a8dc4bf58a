#include "cli/analysis_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWorstSites = 6;

std::string Number(const Json& measurements, const char* name) {
  const auto found = measurements.find(name);
  if (found == measurements.end()) return "";
  return found->is_number() ? absl::StrFormat("%.4g", found->get<double>()) : "not finite";
}

// A row of name, value and meaning for every measurement in the report.
std::string Rows(const Json& measurements, const std::vector<std::pair<const char*, const char*>>& names) {
  TextTable table({"measurement", "value", "meaning"});
  for (const auto& [name, meaning] : names) {
    const std::string value = Number(measurements, name);
    if (!value.empty()) table.AddRow({name, value, meaning});
  }
  return table.ToString();
}

// The number of a site, and the site.
using SiteNumbers = std::vector<std::pair<double, std::string>>;

// The numbers of the measurement `name`, not sorted.
SiteNumbers NumbersOf(const Json& sites, const char* name) {
  SiteNumbers numbers;
  if (!sites.contains(name)) return numbers;
  for (const auto& [site, value] : sites[name].items())
    if (value.is_number()) numbers.emplace_back(value.get<double>(), site);
  return numbers;
}

// The measurement `name` of a site.
std::string SiteNumber(const Json& sites, const char* name, const std::string& site) {
  return sites.contains(name) ? Number(sites[name], site.c_str()) : "";
}

// The tensors with the largest elements.
std::string WorstSites(const Json& sites) {
  if (!sites.contains("inf_norm")) return "";
  SiteNumbers worst = NumbersOf(sites, "inf_norm");
  std::sort(worst.rbegin(), worst.rend());
  if (worst.size() > kWorstSites) worst.resize(kWorstSites);
  TextTable table({"where", "infinity norm", "kurtosis"});
  for (const auto& [norm, site] : worst)
    table.AddRow({site, absl::StrFormat("%.4g", norm), SiteNumber(sites, "kurtosis", site)});
  return table.ToString();
}

// A row for each setting's quantizers of the lowest signal-to-quantization-noise ratio; empty without any.
std::string WorstQuantizers(const Json& settings) {
  constexpr std::size_t kOfASetting = 3;
  TextTable table({"setting", "quantizer", "SQNR in dB", "crest factor", "sensitivity"});
  for (const Json& setting : settings) {
    const Json& sites = setting["sites"];
    SiteNumbers worst = NumbersOf(sites, "sqnr");
    std::ranges::sort(worst);
    if (worst.size() > kOfASetting) worst.resize(kOfASetting);
    for (const auto& [ratio, site] : worst)
      table.AddRow({setting.value("name", ""), site, absl::StrFormat("%.4g", ratio),
                    SiteNumber(sites, "crest_factor", site), SiteNumber(sites, "sensitivity", site)});
  }
  return table.empty() ? "" : absl::StrCat("\nQuantizers with the most noise\n", table.ToString());
}

}  // namespace

bool AnalysisReport::Add(const Json& line) {
  if (line.contains("progress")) {
    const Json& progress = line["progress"];
    progress_ = absl::StrFormat("%s: %s %d/%d", progress.value("setting", ""), progress.value("phase", ""),
                                progress.value("step", 0), progress.value("steps_total", 0));
    return false;
  }
  if (line.contains("model")) model_ = line["model"];
  if (line.contains("setting")) settings_.push_back(line["setting"]);
  if (line.contains("left_out")) left_out_.push_back(line["left_out"]);
  return true;
}

Json AnalysisReport::ToJson() const {
  Json all = {{"model", model_}, {"settings", settings_}};
  if (!left_out_.empty()) all["left_out"] = left_out_;
  return all;
}

v1::StoreAnalysisRequest AnalysisReport::ToRequest() const {
  v1::StoreAnalysisRequest request;
  const auto add = [&request](const Json& setting, const std::string& name, const std::string& site,
                              const Json& value) {
    v1::AnalysisNumber& number = *request.add_numbers();
    number.set_setting(setting.value("name", ""));
    number.set_name(name);
    number.set_site(site);
    if (value.is_number()) number.set_value(value.get<double>());
  };
  for (const Json& setting : settings_) {
    for (const auto& [name, value] : setting["measurements"].items()) add(setting, name, "", value);
    for (const auto& [name, sites] : setting["sites"].items())
      for (const auto& [site, value] : sites.items()) add(setting, name, site, value);
  }
  return request;
}

std::string AnalysisReport::ToCsv() const {
  std::set<std::string> names;
  for (const Json& setting : settings_)
    for (const auto& [name, sites] : setting["sites"].items()) names.insert(name);
  std::string text = "setting,site";
  for (const std::string& name : names) absl::StrAppend(&text, ",", name);
  text += "\n";
  for (const Json& setting : settings_) {
    std::map<std::string, std::map<std::string, Json>> by_site;
    for (const auto& [name, sites] : setting["sites"].items())
      for (const auto& [site, value] : sites.items()) by_site[site][name] = value;
    for (const auto& [site, values] : by_site) {
      absl::StrAppend(&text, CsvField(setting.value("name", "")), ",", CsvField(site));
      for (const std::string& name : names) {
        const auto found = values.find(name);
        const bool known = found != values.end() && found->second.is_number();
        absl::StrAppend(&text, ",", known ? found->second.dump() : "");
      }
      text += "\n";
    }
  }
  return text;
}

std::string AnalysisReport::ToString() const {
  if (model_.is_null() || settings_.empty()) return "";
  const bool has_head = model_.value("has_head", true), of_text = model_.contains("tokenizer");
  std::string text = absl::StrFormat(
      "%s, %d layers, hidden size %d, %d heads, %.1f M parameters%s\n%d %s%s of %d tokens%s%s\n\n",
      model_.value("architecture", ""), model_.value("layers", 0), model_.value("hidden_size", 0),
      model_.value("heads", 0), model_.value("parameters", 0.0) / 1e6,
      has_head ? "" : absl::StrCat(", without a head that predicts ", of_text ? "tokens" : "these classes"),
      model_.value("sequences", 0), of_text ? "sequence" : "image",
      model_.value("sequences", 0) == 1 ? "" : "s", model_.value("sequence_length", 0),
      of_text ? ", tokenizer " : "", model_.value("tokenizer", ""));
  const Json& exact = settings_[0]["measurements"];
  absl::StrAppend(&text, "Outliers, in float\n",
                  Rows(exact, {{"max_inf_norm", "the figure of the papers' tables"},
                               {"avg_kurtosis", "of whole sequences; a Gaussian has 3"},
                               {"max_kurtosis", "its largest over tensors"},
                               {"kurtosis_first", "of the first token's hidden states"},
                               {"kurtosis_rest", "of all other tokens'"},
                               {"max_abs_first", "largest element of the first token"},
                               {"max_abs_rest", "largest element of the others"},
                               {"first_attention_share", "queries with most attention on the first token"},
                               {"first_key_mass", "attention that the first token gets"},
                               {"uniform_first_key_mass", "what uniform attention would give it"},
                               {"sink_rate", "heads that give it more than 0.3"},
                               {"massive_activation_count", "of a sequence, in the layer that has most"}}),
                  "\n", WorstSites(settings_[0]["sites"]), "\nQuantized\n");
  std::vector<std::string> headings = {"setting"};
  const bool has_questions = exact.contains("choice_accuracy");
  if (has_head) headings.insert(headings.end(), {"perplexity", "accuracy"});
  if (has_questions) headings.insert(headings.end(), {"choice accuracy", "norm"});
  headings.insert(headings.end(), {"hidden change", "sentence similarity"});
  TextTable table(headings);
  for (const Json& setting : settings_) {
    const Json& measurements = setting["measurements"];
    std::vector<std::string> cells = {setting.value("name", "")};
    if (has_head)
      cells.insert(cells.end(), {Number(measurements, "perplexity"), Number(measurements, "accuracy")});
    if (has_questions)
      cells.insert(cells.end(),
                   {Number(measurements, "choice_accuracy"), Number(measurements, "choice_accuracy_norm")});
    cells.insert(cells.end(),
                 {Number(measurements, "hidden_change"), Number(measurements, "sentence_similarity")});
    table.AddRow(cells);
  }
  absl::StrAppend(
      &text, table.ToString(),
      "hidden change: mean of |h_q - h| / |h| over tokens, h the last hidden state; sentence similarity: "
      "mean cosine of the\ntoken means of h_q and h\n",
      WorstQuantizers(settings_));
  for (const Json& method : left_out_)
    absl::StrAppend(&text, "left out: ", method.value("name", ""), ": ", method.value("reason", ""), "\n");
  return text;
}

}  // namespace inlier
