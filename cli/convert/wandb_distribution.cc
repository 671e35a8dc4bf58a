#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/foreign_readers.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

const std::vector<std::string> kDistributions = absl::StrSplit(
    "constant categorical categorical_w_probabilities int_uniform uniform q_uniform log_uniform "
    "log_uniform_values q_log_uniform q_log_uniform_values inv_log_uniform inv_log_uniform_values normal "
    "q_normal log_normal q_log_normal beta q_beta",
    ' ');
const std::vector<std::string> kConstraints =
    absl::StrSplit("value values probabilities distribution min max q mu sigma a b", ' ');

constexpr double kMultiplesMax = 200;

// Reads one parameter.
class DistributionReader {
 public:
  DistributionReader(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep)
      : node_(node), at_{node.position, parameter->place.path}, parameter_(*parameter), sweep_(*sweep) {}

  absl::Status Read() {
    for (const YamlNode::Entry& entry : node_.entries) {
      if (std::ranges::find(kConstraints, entry.key) == kConstraints.end())
        sweep_.Tell(Inner(entry.key, entry.position),
                    "is no key of W&B and is left out" + DidYouMean(entry.key, kConstraints));
    }
    if (const auto* value = FindEntry(node_, "value")) {
      parameter_.values = {ValueOf(*value->value)};
      return absl::OkStatus();
    }
    if (const auto* values = FindEntry(node_, "values")) return ReadValues(*values);
    std::string kind = TextOf(node_, "distribution");
    if (kind.empty() && FindEntry(node_, "min") != nullptr && FindEntry(node_, "max") != nullptr)
      kind = IsWhole("min") && IsWhole("max") ? "int_uniform" : "uniform";
    if (kind.empty()) return Error("has no value, values, or min and max; give one of them");
    if (std::ranges::find(kDistributions, kind) == kDistributions.end())
      return ForeignError(Inner("distribution", FindEntry(node_, "distribution")->value->position),
                          Quoted(kind) + " is no distribution of W&B" + DidYouMean(kind, kDistributions));
    if (absl::EndsWith(kind, "normal")) return ReadNormal(kind);
    if (absl::EndsWith(kind, "beta")) return ReadBeta(kind);
    if (!absl::StrContains(kind, "uniform")) return Error("has no values; write values: [...]");
    return ReadUniform(kind);
  }

 private:
  Place Inner(const std::string& key, SourceMap::Position position) const {
    return {position, at_.path + "." + key};
  }
  absl::Status Error(const std::string& text) const { return ForeignError(at_, text); }

  absl::Status ReadValues(const YamlNode::Entry& values) {
    if (values.value->kind != YamlNode::kList || values.value->items.empty())
      return ForeignError(Inner("values", values.value->position), "is not a list of values; write [...]");
    parameter_.values = ItemsOf(*values.value);
    const auto* weights = FindEntry(node_, "probabilities");
    if (weights == nullptr) return absl::OkStatus();
    for (const auto& item : weights->value->items) {
      const ForeignValue weight = ValueOf(*item);
      if (!weight.is_number() || weight.get<double>() < 0)
        return ForeignError(Inner("probabilities", item->position), "is not a number from 0; write one");
      parameter_.weights.push_back(weight.get<double>());
    }
    if (parameter_.weights.size() != parameter_.values.size())
      return ForeignError(Inner("probabilities", weights->position),
                          absl::StrCat("has ", parameter_.weights.size(), " numbers for ",
                                       parameter_.values.size(), " values; give one for each"));
    return absl::OkStatus();
  }

  bool IsWhole(const char* key) const {
    const YamlNode::Entry* entry = FindEntry(node_, key);
    return entry == nullptr || ValueOf(*entry->value).is_number_integer();
  }

  void TellNotRounded(const std::string& kind, double step) {
    sweep_.Tell(at_, absl::StrCat(kind, " rounds to multiples of ", FormatNumber(step),
                                  "; here the numbers are not rounded: let the program round what it reads"));
  }

  absl::Status ReadNormal(const std::string& kind) {
    ASSIGN_OR_RETURN(const double mean, NumberAt(node_, at_, "mu", 0));
    ASSIGN_OR_RETURN(const double deviation, NumberAt(node_, at_, "sigma", 1));
    ASSIGN_OR_RETURN(const double step, NumberAt(node_, at_, "q", 1));
    if (deviation <= 0) return Error("has no sigma above 0; write the one value: value: ...");
    parameter_.normal = {{"mean", mean}, {"std", deviation}};
    if (absl::StrContains(kind, "log_")) parameter_.normal["log"] = true;
    if (absl::StartsWith(kind, "q_")) TellNotRounded(kind, step);
    return absl::OkStatus();
  }

  absl::Status ReadBeta(const std::string& kind) {
    parameter_.range = {{"min", 0}, {"max", 1.0}};
    sweep_.Tell(at_, kind +
                         " is not among the distributions of inlier; here all numbers from 0 to 1 are drawn "
                         "alike: narrow the range, or give values with weights");
    return absl::OkStatus();
  }

  absl::Status ReadUniform(const std::string& kind) {
    ASSIGN_OR_RETURN(double min, NumberAt(node_, at_, "min"));
    ASSIGN_OR_RETURN(double max, NumberAt(node_, at_, "max"));
    ASSIGN_OR_RETURN(const double step, NumberAt(node_, at_, "q", 1));
    const bool log = absl::StrContains(kind, "log_"), quantized = absl::StartsWith(kind, "q_");
    const bool whole = kind == "int_uniform" || (quantized && IsWhole("q"));
    if (log && !absl::EndsWith(kind, "_values")) FromExponents(kind, &min, &max);
    if (step <= 0) return ForeignError(Inner("q", node_.position), "is not above 0; give a larger one");
    if (!std::isfinite(min) || !std::isfinite(max) || min > max)
      return Error(absl::StrCat("has no range from ", FormatNumber(min), " to ", FormatNumber(max),
                                "; give finite ends, the smaller one as min"));
    if (log && min <= 0) return Error("is logarithmic and has a min of 0 or less; raise it");
    if (sweep_.plan == ForeignSweep::kGrid && (kind == "int_uniform" || kind == "q_uniform"))
      return ListOf(min, max, kind == "int_uniform" ? 1 : step, kind == "int_uniform", whole);
    if (quantized && log) return WeighedMultiples(kind, min, max, step, whole);
    if (quantized) {
      min = RoundedTo(12, std::nearbyint(min / step) * step);
      max = RoundedTo(12, std::nearbyint(max / step) * step);
    }
    if (min == max) {
      parameter_.values = {NumberValue(min, whole)};
      return absl::OkStatus();
    }
    parameter_.range = {{"min", NumberValue(min, whole)}, {"max", NumberValue(max, whole)}};
    if (log) parameter_.range["log"] = true;
    if (whole) parameter_.range["integer"] = true;
    if (quantized && !(whole && step == 1)) parameter_.range["step"] = NumberValue(step, whole);
    return absl::OkStatus();
  }

  // A logarithmic number that is rounded to a multiple of `step`: the multiples, weighed by what is rounded to each.
  absl::Status WeighedMultiples(const std::string& kind, double min, double max, double step, bool whole) {
    const double first = std::nearbyint(min / step), last = std::nearbyint(max / step);
    if (last - first >= kMultiplesMax) {
      parameter_.range = {{"min", min}, {"max", max}, {"log", true}};
      TellNotRounded(kind, step);
      return absl::OkStatus();
    }
    for (double i = first; i <= last; ++i) {
      const double low = std::max(min, (i - 0.5) * step), high = std::min(max, (i + 0.5) * step);
      parameter_.values.push_back(NumberValue(RoundedTo(12, i * step), whole));
      parameter_.weights.push_back(high > low ? RoundedTo(4, std::log(high / low)) : 0);
    }
    if (first == last) parameter_.weights = {1};
    return absl::OkStatus();
  }

  // log_uniform takes the natural logarithms of its ends.
  void FromExponents(const std::string& kind, double* min, double* max) {
    const double low = *min, high = *max;
    const bool inverse = absl::StrContains(kind, "inv_");
    *min = RoundedTo(6, std::exp(inverse ? -high : low));
    *max = RoundedTo(6, std::exp(inverse ? -low : high));
    if (low > 0 && high <= 1)
      sweep_.Tell(at_, absl::StrCat(kind, " takes exponents, so this is the range from ", FormatNumber(*min),
                                    " to ", FormatNumber(*max), "; if values are meant, write ", kind,
                                    "_values and convert the file again"));
  }

  // A grid of W&B has these numbers: the end of int_uniform is one of them, that of q_uniform is not.
  absl::Status ListOf(double min, double max, double step, bool with_end, bool whole) {
    const double count = std::ceil((max - min) / step - 1e-9) + (with_end ? 1 : 0);
    if (count < 1 || count > Limits::kValuesMax)
      return Error(absl::StrCat("has ", FormatNumber(count), " values in a grid, and an axis may have 1 to ",
                                Limits::kValuesMax, "; give another q, min or max"));
    for (double i = 0; i < count; ++i)
      parameter_.values.push_back(NumberValue(RoundedTo(12, min + i * step), whole && IsWhole("min")));
    return absl::OkStatus();
  }

  const YamlNode& node_;
  const Place at_;
  ForeignParameter& parameter_;
  ForeignSweep& sweep_;
};

}  // namespace

absl::Status ReadWandbParameter(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep) {
  return DistributionReader(node, parameter, sweep).Read();
}

}  // namespace inlier
