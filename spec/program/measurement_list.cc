#include "spec/program/measurement_list.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "spec/program/program_description.h"

namespace inlier {
namespace {

Better DeclaredBetter(v1::ProgramMeasurement::Better better) {
  switch (better) {
    case v1::ProgramMeasurement::LOWER:
      return Better::kLower;
    case v1::ProgramMeasurement::HIGHER:
      return Better::kHigher;
    case v1::ProgramMeasurement::NEITHER:
      return Better::kNone;
  }
  return Better::kNone;
}

const char* BetterText(Better better) {
  return better == Better::kLower ? "lower" : better == Better::kHigher ? "higher" : "neither";
}

std::string ReporterOf(const v1::SweepSpec& sweep) {
  if (sweep.has_imported()) return "imported runs";
  return sweep.has_program() ? absl::StrCat("program ", sweep.program().name()) : "inlier's models";
}

}  // namespace

const std::shared_ptr<const MeasurementList>& MeasurementList::OfModels() {
  static const std::shared_ptr<const MeasurementList> models = [] {
    const std::shared_ptr<MeasurementList> list(new MeasurementList());
    list->all_ = Measurements();
    return list;
  }();
  return models;
}

std::shared_ptr<const MeasurementList> MeasurementList::OfProgram(const v1::ProgramDescription& program) {
  const std::shared_ptr<MeasurementList> list(new MeasurementList());
  list->description_ = program;
  for (const auto& [name, measurement] : list->description_.measurements()) {
    MeasurementInfo& info = list->all_.emplace_back();
    info.axis = "";
    info.source = measurement.reported_by() == v1::ProgramParameter::EVALUATION ? "evaluate" : "train";
    info.final = info.curve = true;
    info.better = DeclaredBetter(measurement.better());
    info.name = name;
    info.unit = measurement.unit();
    info.formula = measurement.formula();
  }
  std::ranges::sort(list->all_, {}, &MeasurementInfo::name);
  for (const MeasurementInfo& ours : Measurements()) {
    if (!InlierEvaluates(program) || ours.source != "evaluate") continue;
    list->all_.push_back(ours);
    list->all_.back().curve = false;  // The training is not inlier's.
  }
  return list;
}

std::shared_ptr<const MeasurementList> MeasurementList::Of(const v1::SweepSpec& sweep) {
  return sweep.has_program() ? OfProgram(sweep.program().description()) : OfModels();
}

absl::StatusOr<std::shared_ptr<const MeasurementList>> MeasurementList::Of(
    const std::vector<v1::SweepSpec>& sweeps) {
  const std::shared_ptr<MeasurementList> list(new MeasurementList());
  std::map<std::string_view, std::pair<std::size_t, const v1::SweepSpec*>>
      places;  // In `all_`, and whose it is.
  for (const v1::SweepSpec& sweep : sweeps) {
    list->joined_.push_back(Of(sweep));
    for (const MeasurementInfo& info : list->joined_.back()->all()) {
      const auto [place, is_new] = places.emplace(info.name, std::pair(list->all_.size(), &sweep));
      if (is_new) {
        list->all_.push_back(info);
        continue;
      }
      MeasurementInfo& known = list->all_[place->second.first];
      // Of an imported one nobody may have said which number is better.
      const v1::SweepSpec& before = *place->second.second;
      if (before.has_imported() && known.better == Better::kNone) known.better = info.better;
      const bool unknown = sweep.has_imported() && info.better == Better::kNone;
      if (known.better != info.better && !unknown) {
        return absl::InvalidArgumentError(
            absl::StrCat(std::string(info.name), ": the better number is ", BetterText(known.better), " for ",
                         ReporterOf(before), " (sweep ", before.name(), ") and ", BetterText(info.better),
                         " for ", ReporterOf(sweep), " (sweep ", sweep.name(),
                         "); leave one sweep out, or give one measurement another name"));
      }
      if (known.axis == "site") known.axis = info.axis;
      if (known.source != info.source)
        known.source = "evaluate";  // Counts what a training reports once as well.
      known.final |= info.final;
      known.curve |= info.curve;
    }
  }
  return list;
}

const MeasurementInfo* MeasurementList::Find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(all_, [name](const MeasurementInfo& info) { return info.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace inlier
