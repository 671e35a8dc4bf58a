#include "cli/plots/figure_choice.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/sweeps/axis_arguments.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/param_range.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/figure_checks.h"

namespace inlier {
namespace {

using v1::FigureSpec;

constexpr std::size_t kUsualFiguresMax = 3;

FigureSpec Usual(FigureSpec::Kind kind, std::string_view measurement) {
  FigureSpec figure;
  figure.set_kind(kind);
  figure.set_y(std::string(measurement));
  return figure;
}

// The figures of a sweep that describes none: of a program's first measurements.
std::vector<FigureSpec> UsualFigures(const v1::SweepSpec& sweep) {
  if (!sweep.has_program())
    return {Usual(FigureSpec::CURVES, "train_loss"), Usual(FigureSpec::BARS, "max_inf_norm"),
            Usual(FigureSpec::BARS, "avg_kurtosis")};
  std::vector<FigureSpec> figures;
  const auto measurements = MeasurementList::Of(sweep);
  for (const MeasurementInfo& info : measurements->first()) {
    if (figures.size() < kUsualFiguresMax)
      figures.push_back(Usual(info.source == "train" ? FigureSpec::CURVES : FigureSpec::BARS, info.name));
  }
  return figures;
}

}  // namespace

std::vector<std::string> FigureKinds() {
  std::vector<std::string> known;
  for (int i = FigureSpec::Kind_MIN; i <= FigureSpec::Kind_MAX; ++i) {
    const std::string& name = FigureSpec::Kind_Name(static_cast<FigureSpec::Kind>(i));
    known.push_back(absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}}));
  }
  return known;
}

absl::StatusOr<FigureSpec::Kind> ParseFigureKind(const std::string& text) {
  FigureSpec::Kind kind;
  const std::string asked = absl::StrReplaceAll(absl::AsciiStrToUpper(text), {{"-", "_"}});
  if (FigureSpec::Kind_Parse(asked, &kind)) return kind;
  const std::string word = absl::StrReplaceAll(absl::AsciiStrToLower(text), {{"_", "-"}});
  return absl::InvalidArgumentError(
      absl::StrCat("--kind ", text, ": unknown kind of figure", DidYouMean(word, FigureKinds())));
}

absl::Status AddCondition(const std::string& text, const std::vector<std::string>& axes, FigureSpec* figure) {
  const auto condition = SplitCondition(text, axes);
  if (!condition) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--where ", text, ": write an axis or column, \"=\" and a label, such as method=vanilla"));
  }
  google::protobuf::Value value = WrittenValue(condition->second);
  google::protobuf::Value& wanted = (*figure->mutable_where())[condition->first];
  if (wanted.kind_case() == google::protobuf::Value::KIND_NOT_SET) {
    wanted = std::move(value);
    return absl::OkStatus();
  }
  if (wanted.kind_case() != google::protobuf::Value::kListValue) {
    const google::protobuf::Value first = wanted;
    *wanted.mutable_list_value()->add_values() = first;
  }
  *wanted.mutable_list_value()->add_values() = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FigureSpec>> ChooseFigures(const v1::SweepSpec& sweep,
                                                      const std::vector<std::string>& names) {
  std::vector<FigureSpec> all(sweep.figures().begin(), sweep.figures().end());
  if (all.empty()) all = UsualFigures(sweep);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].has_name()) all[i].set_name(FigureNameOf(sweep, absl::StrCat("-", i + 1)));
    known.push_back(all[i].name());
  }
  if (names.empty()) return all;
  std::vector<FigureSpec> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      return absl::NotFoundError(
          absl::StrCat("the sweep has no figure \"", name, "\"", DidYouMean(name, known)));
    }
    chosen.push_back(all[static_cast<std::size_t>(found - known.begin())]);
  }
  return chosen;
}

absl::Status CheckAlone(const FigureSpec& figure, const SweepGrid& grid) {
  Problems problems;
  CheckDeclarations(figure, "", &problems);
  CheckFigure(figure, grid, "", &problems);
  return problems.ToStatus();
}

}  // namespace inlier
