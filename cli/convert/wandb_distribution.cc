#include "cli/convert/wandb_distribution.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/utf8.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

const std::vector<std::string> kDistributions = {"constant",
                                                 "categorical",
                                                 "categorical_w_probabilities",
                                                 "int_uniform",
                                                 "uniform",
                                                 "q_uniform",
                                                 "log_uniform",
                                                 "log_uniform_values",
                                                 "q_log_uniform",
                                                 "q_log_uniform_values",
                                                 "inv_log_uniform",
                                                 "inv_log_uniform_values",
                                                 "normal",
                                                 "q_normal",
                                                 "log_normal",
                                                 "q_log_normal",
                                                 "beta",
                                                 "q_beta"};

const std::vector<std::string> kConstraints = {
    "value", "values", "probabilities", "distribution", "min", "max", "q", "mu", "sigma", "a", "b"};

constexpr double kMultiplesMax = 200;

// Rounded, so that 3 * 0.1 is 0.3, and e^-9.9 is readable.
double OfDigits(double value, int digits) {
  return ParseNumber(absl::StrFormat("%.*e", digits - 1, value)).value_or(value);
}

// Whole where it is and may be.
ForeignValue NumberValue(double value, bool whole) {
  if (whole && std::abs(value) < 1e15 && value == std::trunc(value)) return static_cast<std::int64_t>(value);
  return value;
}

// Reads one parameter.
class DistributionReader {
 public:
  DistributionReader(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep)
      : node_(node), path_(parameter->path), parameter_(*parameter), sweep_(*sweep) {}

  absl::Status Read() {
    for (const YamlNode::Entry& entry : node_.entries) {
      if (std::ranges::find(kConstraints, entry.key) == kConstraints.end())
        sweep_.Tell(entry.position, path_ + "." + entry.key,
                    "is no key of W&B and is left out" + DidYouMean(entry.key, kConstraints));
    }
    if (const auto* value = FindEntry(node_, "value")) {
      parameter_.values = {ValueOf(*value->value)};
      return absl::OkStatus();
    }
    if (const auto* values = FindEntry(node_, "values")) return ReadValues(*values);
    std::string kind = TextOf(node_, "distribution");
    const auto *min = FindEntry(node_, "min"), *max = FindEntry(node_, "max");
    if (kind.empty() && min != nullptr && max != nullptr) {
      const bool whole = ValueOf(*min->value).is_number_integer() && ValueOf(*max->value).is_number_integer();
      kind = whole ? "int_uniform" : "uniform";
    }
    if (kind.empty())
      return ForeignError(node_.position, path_, "has no value, values, or min and max; give one of them");
    if (std::ranges::find(kDistributions, kind) == kDistributions.end())
      return ForeignError(FindEntry(node_, "distribution")->value->position, path_ + ".distribution",
                          Quoted(kind) + " is no distribution of W&B" + DidYouMean(kind, kDistributions));
    if (absl::EndsWith(kind, "normal")) return ReadNormal(kind);
    if (absl::EndsWith(kind, "beta")) return ReadBeta(kind);
    if (!absl::StrContains(kind, "uniform"))
      return ForeignError(node_.position, path_, "has no values; write values: [...]");
    return ReadUniform(kind);
  }

 private:
  absl::Status ReadValues(const YamlNode::Entry& values) {
    if (values.value->kind != YamlNode::kList || values.value->items.empty())
      return ForeignError(values.value->position, path_ + ".values", "is not a list of values; write [...]");
    for (const auto& item : values.value->items) parameter_.values.push_back(ValueOf(*item));
    const auto* weights = FindEntry(node_, "probabilities");
    if (weights == nullptr) return absl::OkStatus();
    for (const auto& item : weights->value->items) {
      const ForeignValue weight = ValueOf(*item);
      if (!weight.is_number() || weight.get<double>() < 0)
        return ForeignError(item->position, path_ + ".probabilities", "is not a number from 0; write one");
      parameter_.weights.push_back(weight.get<double>());
    }
    if (parameter_.weights.size() != parameter_.values.size())
      return ForeignError(weights->position, path_ + ".probabilities",
                          absl::StrCat("has ", parameter_.weights.size(), " numbers for ",
                                       parameter_.values.size(), " values; give one for each"));
    return absl::OkStatus();
  }

  // The number of `key`; an error where it is not there and has no default.
  absl::StatusOr<double> Number(const char* key, std::optional<double> otherwise = std::nullopt) {
    const YamlNode::Entry* entry = FindEntry(node_, key);
    if (entry != nullptr) return NumberOf(*entry, path_ + "." + key);
    if (otherwise) return *otherwise;
    return ForeignError(node_.position, path_, std::string("has no ") + key + "; give it");
  }

  bool IsWhole(const char* key) const {
    const YamlNode::Entry* entry = FindEntry(node_, key);
    return entry == nullptr || ValueOf(*entry->value).is_number_integer();
  }

  absl::Status ReadNormal(const std::string& kind) {
    ASSIGN_OR_RETURN(const double mean, Number("mu", 0));
    ASSIGN_OR_RETURN(const double deviation, Number("sigma", 1));
    if (deviation <= 0)
      return ForeignError(node_.position, path_, "has no sigma above 0; write the one value: value: ...");
    parameter_.normal = {{"mean", mean}, {"std", deviation}};
    if (absl::StrContains(kind, "log_")) parameter_.normal["log"] = true;
    if (absl::StartsWith(kind, "q_")) {
      ASSIGN_OR_RETURN(const double step, Number("q", 1));
      sweep_.Tell(node_.position, path_,
                  absl::StrCat(kind, " rounds to multiples of ", FormatNumber(step),
                               "; here the numbers are not rounded: let the program round what it reads"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadBeta(const std::string& kind) {
    parameter_.range = {{"min", 0}, {"max", 1.0}};
    sweep_.Tell(
        node_.position, path_,
        kind +
            " is not among the distributions of inlier; here all numbers from 0 to 1 are drawn alike: "
            "narrow the range, or give values with weights");
    return absl::OkStatus();
  }

  absl::Status ReadUniform(const std::string& kind) {
    ASSIGN_OR_RETURN(double min, Number("min"));
    ASSIGN_OR_RETURN(double max, Number("max"));
    const bool log = absl::StrContains(kind, "log_"), quantized = absl::StartsWith(kind, "q_");
    if (log && !absl::EndsWith(kind, "_values")) FromExponents(kind, &min, &max);
    ASSIGN_OR_RETURN(const double step, Number("q", 1));
    if (step <= 0) return ForeignError(node_.position, path_ + ".q", "is not above 0; give a larger one");
    const bool whole = kind == "int_uniform" || (quantized && IsWhole("q"));
    if (!std::isfinite(min) || !std::isfinite(max) || min > max)
      return ForeignError(node_.position, path_,
                          absl::StrCat("has no range from ", FormatNumber(min), " to ", FormatNumber(max),
                                       "; give finite ends, the smaller one as min"));
    if (log && min <= 0)
      return ForeignError(node_.position, path_, "is logarithmic and has a min of 0 or less; raise it");
    if (sweep_.plan == ForeignSweep::kGrid && (kind == "int_uniform" || kind == "q_uniform"))
      return ListOf(min, max, kind == "int_uniform" ? 1 : step, kind == "int_uniform", whole);
    if (quantized && log) return WeighedMultiples(kind, min, max, step, whole);
    if (quantized) {
      min = OfDigits(std::nearbyint(min / step) * step, 12);
      max = OfDigits(std::nearbyint(max / step) * step, 12);
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
      sweep_.Tell(node_.position, path_,
                  absl::StrCat(kind, " rounds to multiples of ", FormatNumber(step),
                               "; here the numbers are not rounded: let the program round what it reads"));
      return absl::OkStatus();
    }
    for (double i = first; i <= last; ++i) {
      const double low = std::max(min, (i - 0.5) * step), high = std::min(max, (i + 0.5) * step);
      parameter_.values.push_back(NumberValue(OfDigits(i * step, 12), whole));
      parameter_.weights.push_back(high > low ? OfDigits(std::log(high / low), 4) : 0);
    }
    if (first == last) parameter_.weights = {1};
    return absl::OkStatus();
  }

  // log_uniform takes the natural logarithms of its ends.
  void FromExponents(const std::string& kind, double* min, double* max) {
    const double low = *min, high = *max;
    const bool inverse = absl::StrContains(kind, "inv_");
    *min = OfDigits(std::exp(inverse ? -high : low), 6);
    *max = OfDigits(std::exp(inverse ? -low : high), 6);
    if (low > 0 && high <= 1)
      sweep_.Tell(node_.position, path_,
                  absl::StrCat(kind, " takes exponents, so this is the range from ", FormatNumber(*min),
                               " to ", FormatNumber(*max), "; if values are meant, write ", kind,
                               "_values and convert the file again"));
  }

  // A grid of W&B has these numbers: the end of int_uniform is one of them, that of q_uniform is not.
  absl::Status ListOf(double min, double max, double step, bool with_end, bool whole) {
    const double count = std::ceil((max - min) / step - 1e-9) + (with_end ? 1 : 0);
    if (count < 1 || count > Limits::kValuesMax)
      return ForeignError(
          node_.position, path_,
          absl::StrCat("has ", FormatNumber(count), " values in a grid, and an axis may have 1 to ",
                       Limits::kValuesMax, "; give another q, min or max"));
    for (double i = 0; i < count; ++i)
      parameter_.values.push_back(NumberValue(OfDigits(min + i * step, 12), whole && IsWhole("min")));
    return absl::OkStatus();
  }

  const YamlNode& node_;
  const std::string& path_;
  ForeignParameter& parameter_;
  ForeignSweep& sweep_;
};

}  // namespace

absl::Status ReadWandbParameter(const YamlNode& node, ForeignParameter* parameter, ForeignSweep* sweep) {
  return DistributionReader(node, parameter, sweep).Read();
}

}  // namespace inlier
