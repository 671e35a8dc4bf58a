#include "results/figures/axis_title.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace inlier {
namespace {

// "\\pi_{init}" -> "π_init".
std::string PlainSymbol(const std::string& latex) {
  return absl::StrReplaceAll(latex, {{"\\alpha", "α"},
                                     {"\\beta", "β"},
                                     {"\\gamma", "γ"},
                                     {"\\zeta", "ζ"},
                                     {"\\pi", "π"},
                                     {"_1", "₁"},
                                     {"_2", "₂"},
                                     {"\\", ""},
                                     {"{", ""},
                                     {"}", ""}});
}

}  // namespace

std::string AxisTitle(const std::string& name, const SweepGrid& grid) {
  std::string field;
  bool is_axis = false;
  for (const AxisInfo& axis : grid.axes()) {
    if (axis.name != name) continue;
    is_axis = true;
    field = axis.field;
  }
  for (const ParamInfo& param : grid.form().params()) {
    if (param.symbol.empty() || (is_axis ? param.path != field : param.column != name)) continue;
    const std::string symbol = PlainSymbol(param.symbol);
    return symbol == name ? name : absl::StrCat(name, " (", symbol, ")");
  }
  return name;
}

std::string MeasurementTitle(const std::string& name, const SweepGrid& grid) {
  const MeasurementInfo* info = grid.form().measurements()->Find(name);
  if (info == nullptr || info->unit == "1" || info->unit.empty()) return name;
  return absl::StrCat(name, " (", std::string(info->unit), ")");
}

}  // namespace inlier
