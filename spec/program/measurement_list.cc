#include "spec/program/measurement_list.h"

#include <algorithm>
#include <map>

namespace inlier {

MeasurementList::MeasurementList(const v1::ProgramUse& program) : description_(program.description()) {
  std::map<std::string_view, const v1::ProgramMeasurement*> by_name;
  for (const auto& [name, measurement] : description_.measurements()) by_name[name] = &measurement;
  for (const auto& [name, measurement] : by_name) {
    MeasurementInfo& info = all_.emplace_back();
    info.axis = "";
    info.source = measurement->reported_by() == v1::ProgramParameter::EVALUATION ? "evaluate" : "train";
    info.final = info.curve = true;
    info.better = measurement->better() == v1::ProgramMeasurement::LOWER    ? Better::kLower
                  : measurement->better() == v1::ProgramMeasurement::HIGHER ? Better::kHigher
                                                                            : Better::kNone;
    info.name = name;
    info.unit = measurement->unit();
    info.formula = measurement->formula();
  }
}

const std::shared_ptr<const MeasurementList>& MeasurementList::OfModels() {
  static const std::shared_ptr<const MeasurementList> models = [] {
    const std::shared_ptr<MeasurementList> list(new MeasurementList());
    list->all_ = Measurements();
    return list;
  }();
  return models;
}

std::shared_ptr<const MeasurementList> MeasurementList::Of(const v1::SweepSpec& sweep) {
  if (!sweep.has_program()) return OfModels();
  return std::shared_ptr<const MeasurementList>(new MeasurementList(sweep.program()));
}

const MeasurementInfo* MeasurementList::Find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(all_, [name](const MeasurementInfo& info) { return info.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace inlier
