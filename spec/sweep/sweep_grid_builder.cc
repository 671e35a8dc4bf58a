// SweepGrid::Create: the axes of a SweepSpec, checked and compiled.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/utf8.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/patch_claims.h"
#include "spec/sweep/point_labels.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/values/sample_normal.h"
#include "spec/values/ties.h"

namespace inlier {

using google::protobuf::ListValue;
using google::protobuf::Message;
using google::protobuf::Value;

namespace {

// Sets the field of `point`; checks type and range. "" or the problem. `label` becomes the value as text.
std::string SetField(const FieldPath& path, const Value& value, Message* point, std::string* label) {
  Message* parent = path.MutableParent(point);
  std::string problem = SetLeafValue(path.field(), value, parent);
  if (problem.empty()) problem = RangeProblem(path.field(), *parent);
  *label = LeafText(path.field(), *parent);
  return problem;
}

// Equal for patches that set the same.
std::string KeyOf(const v1::TrialSpec& patch) {
  std::string key;
  google::protobuf::io::StringOutputStream stream(&key);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  patch.SerializeToCodedStream(&coded);
  coded.Trim();
  return key;
}

}  // namespace

class SweepGridBuilder {
 public:
  SweepGridBuilder(const v1::SweepSpec& sweep, Problems* problems) : sweep_(sweep), problems_(problems) {}

  std::optional<SweepGrid> Build() {
    const std::size_t before = problems_->count();
    absl::StatusOr<std::shared_ptr<const TrialForm>> form = TrialForm::Of(sweep_);
    if (!form.ok()) {
      problems_->Add("program", std::string(form.status().message()));
      return std::nullopt;
    }
    grid_.form_ = *std::move(form);
    grid_.base_ = sweep_.base();
    const bool of_program = sweep_.base().has_program() || sweep_.base().has_program_evaluation();
    if (of_program && !grid_.form_->is_program())
      problems_->Add("base", "has a program's parameters, and the sweep has no program; give program: NAME");
    if (grid_.form_->is_program()) grid_.form_->Read(sweep_.base(), problems_);
    if (sweep_.axes_size() > SweepGrid::kAxesMax) {
      problems_->Add("axes", std::to_string(sweep_.axes_size()) + " axes are more than " +
                                 std::to_string(SweepGrid::kAxesMax) + "; split the sweep");
      return std::nullopt;
    }
    if (sweep_.has_sampling()) grid_.sampled_.emplace();
    for (int i = 0; i < sweep_.axes_size(); ++i) AddAxis(i);
    if (sweep_.tied_size() > 0 && problems_->count() == before) AddTies();
    if (problems_->count() == before && grid_.sampled_) grid_.CompileSampling(sweep_.sampling(), problems_);
    // Conditions and exclusions name axes and labels, which must be right first.
    if (problems_->count() != before) return std::nullopt;
    grid_.starts_from_points_ = StartsFromPoints();
    grid_.CompileConditions(sweep_, problems_);
    if (problems_->count() != before) return std::nullopt;
    if (grid_.sampled_) {
      grid_.FindSampledPoints(problems_);
      if (problems_->count() != before) return std::nullopt;
    } else {
      grid_.kept_ = grid_.ruled_ ? grid_.ruled_->size() : grid_.size_;
    }
    if (grid_.kept_ == 0) problems_->Add("exclude", "leaves out every point; remove an exclusion");
    if (problems_->count() != before) return std::nullopt;
    return std::move(grid_);
  }

 private:
  bool StartsFromPoints() const {
    const auto starts = [](const v1::TrialSpec& spec) { return spec.training().start_from().has_point(); };
    return starts(grid_.base_) || std::ranges::any_of(grid_.points_, [&](const AxisPoints& axis) {
             return std::ranges::any_of(axis.patches, starts);
           });
  }

  void AddTies() {
    const std::size_t before = problems_->count();
    const auto ties = std::make_shared<const Ties>(sweep_.tied(), grid_.form_->descriptor(), problems_);
    std::vector<std::unique_ptr<Message>> parts;
    parts.push_back(grid_.form_->Read(grid_.base_, problems_));
    if (const std::string path = ties->SetBy(*parts[0]); !path.empty())
      problems_->Add("base." + path, "is tied, so that base cannot decide it; leave it out here or in tied");
    for (const AxisPoints& axis : grid_.points_) {
      for (std::uint32_t digit = 0; digit < axis.patches.size(); ++digit) {
        if (axis.sets_alike && digit > 0) break;
        parts.push_back(grid_.form_->Read(axis.patches[digit], problems_));
        const std::string path = ties->SetBy(*parts.back());
        if (path.empty()) continue;
        problems_->Add(axis.PathOf(digit),
                       "decides " + path + ", which is tied; leave it out here or in tied");
      }
    }
    if (problems_->count() == before) ties->CheckUse(parts, problems_);
    grid_.ties_ = ties;
  }

  void AddAxis(int index) {
    const v1::Axis& axis = sweep_.axes(index);
    const std::string path = ItemPath("axes", index);
    grid_.axes_.emplace_back();
    grid_.points_.emplace_back();
    const bool is_field = axis.has_field(), is_zip = axis.zip_size() > 0,
               is_variants = axis.variants_size() > 0;
    info().each = axis.each();
    if (axis.each() && !sweep_.has_sampling())
      problems_->Add(path + ".each",
                     "has an effect only with sampling; leave it out, or add sampling to the sweep");
    if (grid_.sampled_) grid_.sampled_->drawn.emplace_back();
    if (grid_.sampled_) grid_.sampled_->weights.emplace_back();
    if (axis.has_range() || axis.has_normal()) {
      AddNumbersAxis(axis, path);
      CheckAxisName(path);
      return;
    }
    if (is_field + is_zip + is_variants != 1 || (is_variants && axis.values_size() > 0))
      return problems_->Add(
          path, std::string(is_field + is_zip + is_variants == 0 ? "has nothing to vary" : "mixes forms") +
                    "; give exactly one of: field with values, range or normal, zip with values, name with "
                    "variants");
    if (!is_variants && axis.values_size() == 0)
      return problems_->Add(path + ".values", "is empty; give at least one value, or remove the axis");
    const int length = is_variants ? axis.variants_size() : axis.values_size();
    if (length > SweepGrid::kValuesMax)
      return problems_->Add(path, std::to_string(length) + " values are more than " +
                                      std::to_string(SweepGrid::kValuesMax) + "; split the sweep");
    points().patches.reserve(static_cast<std::size_t>(length));
    points().list = path + (is_variants ? ".variants" : ".values");
    points().sets_alike = !is_variants;
    if (is_field) AddFieldAxis(axis, path);
    if (is_zip) AddZipAxis(axis, path);
    if (is_variants) AddVariantAxis(axis, path);
    AddWeights(axis, path + ".weights", length);
    CheckAxisName(path);
    CheckRepeats();
  }

  AxisInfo& info() { return grid_.axes_.back(); }
  AxisPoints& points() { return grid_.points_.back(); }

  // `number` is the value's place in its list.
  void AddPoint(std::string label, v1::TrialSpec patch, int number) {
    info().labels.push_back(std::move(label));
    points().patches.push_back(std::move(patch));
    points().numbers.push_back(static_cast<std::uint32_t>(number));
  }

  v1::TrialSpec PatchOf(const Message& point) const {
    v1::TrialSpec patch;
    grid_.form_->Write(point, &patch);
    return patch;
  }

  // A leaf of the sweep's form, or a problem.
  std::optional<FieldPath> LeafNamed(const std::string& text, const std::string& path) {
    FieldPath field;
    std::string problem = FieldPath::TryParse(grid_.form_->descriptor(), text, &field);
    if (problem.empty() && !field.is_leaf())
      problem = "is a group of fields; name one of them, or use variants to choose between groups";
    if (problem.empty()) return field;
    problems_->Add(path, text + ": " + problem);
    return std::nullopt;
  }

  // Sets the field in the next point, or leaves it unset where the value is null; returns the label. A problem is reported at
  // `place`, with `more` behind it.
  std::string SetOrLeave(const FieldPath& field, const Value& value, const std::string& place, Message* point,
                         const std::string& more = "") {
    std::string label = ValueText(value), problem;
    if (value.kind_case() == Value::kNullValue) {
      LeaveUnset(field.text(), place);
    } else {
      problem = SetField(field, value, point, &label);
    }
    if (!problem.empty()) problems_->Add(place, problem + more);
    return label;
  }

  // In the next point nothing may set `path`. Other axes are checked with their conditions.
  void LeaveUnset(const std::string& path, const std::string& place) {
    points().unset[static_cast<std::uint32_t>(points().patches.size())].push_back(path);
    points().sets_alike = false;
    CheckUnset(sweep_, *grid_.form_, path, place, problems_);
  }

  void AddFieldAxis(const v1::Axis& axis, const std::string& path) {
    const std::optional<FieldPath> field = LeafNamed(axis.field(), path + ".field");
    if (!field) return;
    info().field = field->text();
    info().name = axis.has_name() ? axis.name() : field->last_word();
    for (int i = 0; i < axis.values_size(); ++i) {
      const std::unique_ptr<Message> point = grid_.form_->New();
      std::string label = SetOrLeave(*field, axis.values(i), ItemPath(points().list, i), point.get());
      AddPoint(std::move(label), PatchOf(*point), i);
    }
  }

  // Numbers to draw, of which the checks see the two ends, or the list of a range with steps.
  void AddNumbersAxis(const v1::Axis& axis, const std::string& path) {
    const char* const form = axis.has_normal() ? "normal" : "range";
    const std::string form_path = path + "." + form;
    if (axis.has_normal() && axis.has_range())
      return problems_->Add(path, "has a range and a normal distribution; keep one of them");
    if (!axis.has_field() || axis.zip_size() > 0 || axis.variants_size() > 0 || axis.values_size() > 0)
      return problems_->Add(path, axis.values_size() > 0
                                      ? absl::StrCat("has values and a ", form, "; keep one of them")
                                      : absl::StrCat("a ", form, " is of one field; give field with ", form));
    if (axis.has_normal() && sweep_.sampling().has_optuna())
      return problems_->Add(form_path, "is not searched by Optuna, which takes ranges; give range");
    if (axis.weights_size() > 0)
      return problems_->Add(path + ".weights", "are of values or variants; leave them out, or give values");
    const bool listed = axis.range().has_step() && (!sweep_.has_sampling() || axis.each());
    if (!listed && !sweep_.has_sampling())
      return problems_->Add(
          form_path,
          absl::StrCat(
              "has no end of values to run them all; add sampling to the sweep, such as {sobol: {trials: "
              "64}}, or give ",
              axis.has_range() ? "step or values" : "values"));
    if (!listed && axis.each())
      return problems_->Add(path + ".each",
                            absl::StrCat("a ", form,
                                         " cannot be run with each of its values; leave out each, "
                                         "or give values"));
    const std::optional<FieldPath> field = LeafNamed(axis.field(), path + ".field");
    if (!field) return;
    info().field = field->text();
    info().name = axis.has_name() ? axis.name() : field->last_word();
    if (!IsNumber(field->field()))
      return problems_->Add(form_path, field->text() + " is not a number; give values");
    const bool whole = IsWhole(field->field());
    const std::string problem = axis.has_normal() ? SampleNormal::FormProblem(axis.normal(), whole)
                                                  : RangeSpecProblem(axis.range(), whole);
    if (!problem.empty()) return problems_->Add(form_path, problem);
    points().list = form_path;
    points().sets_alike = true;
    if (axis.has_normal()) return AddNormal(axis.normal(), SampleNormal(axis.normal(), whole), *field);
    const SampleRange range(axis.range(), whole);
    if (listed) {
      const std::size_t before = problems_->count();
      for (std::uint32_t i = 0; i < range.steps() && problems_->count() == before; ++i)
        AddNumber(*field, range.Step(i), form_path + (i == 0 ? ".min" : ".max"));
      return CheckRepeats();
    }
    AddNumber(*field, axis.range().min(), form_path + ".min");
    AddNumber(*field, range.last(), form_path + ".max");
    info().range = range.ToString();
    grid_.sampled_->drawn.back() =
        DrawnField{[range](UnitNumber draw) { return range.At(draw); }, *field, range.resolved()};
  }

  void AddNormal(const v1::AxisNormal& spec, const SampleNormal& normal, const FieldPath& field) {
    const std::string& place = points().list;
    if (sweep_.sampling().has_sobol() && !sweep_.sampling().sobol().scramble() && !spec.has_min())
      return problems_->Add(
          place,
          "has no lower end, which is the first sample of Sobol's sequence without scrambling; "
          "give min, or leave out scramble: false");
    static constexpr char kLimits[] = ", and draws would be; give min and max, within which all is drawn";
    AddNumber(field, normal.At({0}), spec.has_min() ? place + ".min" : place, spec.has_min() ? "" : kLimits);
    AddNumber(field, normal.At({(1ull << UnitNumber::kBits) - 1}), spec.has_max() ? place + ".max" : place,
              spec.has_max() ? "" : kLimits);
    info().range = normal.ToString();
    grid_.sampled_->drawn.back() =
        DrawnField{[normal](UnitNumber draw) { return normal.At(draw); }, field, {}};
  }

  // A point whose problem is reported at `place`, with `more` behind it.
  void AddNumber(const FieldPath& field, double number, const std::string& place,
                 const std::string& more = "") {
    Value value;
    value.set_number_value(number);
    const std::unique_ptr<Message> point = grid_.form_->New();
    info().labels.push_back(SetOrLeave(field, value, place, point.get(), more));
    points().patches.push_back(PatchOf(*point));
  }

  // `length`: of the axis' values.
  void AddWeights(const v1::Axis& axis, const std::string& path, int length) {
    if (axis.weights_size() == 0) return;
    if (!sweep_.has_sampling())
      return problems_->Add(
          path, "have an effect only with sampling; leave them out, or add sampling to the sweep");
    if (sweep_.sampling().has_optuna())
      return problems_->Add(path, "have no effect where Optuna proposes; leave them out");
    if (axis.each())
      return problems_->Add(path, "have no effect on an axis that is not drawn; leave out weights or each");
    if (axis.weights_size() != length)
      return problems_->Add(path, absl::StrCat("has ", axis.weights_size(), " weights for ", length,
                                               " values; give one for each value"));
    double sum = 0;
    for (int i = 0; i < length; ++i) {
      sum += axis.weights(i);
      if (!(axis.weights(i) >= 0))
        return problems_->Add(ItemPath(path, i),
                              FormatNumber(axis.weights(i)) + " is below 0; give 0 or more");
    }
    if (sum == 0 || !std::isfinite(sum))
      return problems_->Add(path, sum == 0 ? "are all 0, and nothing could be drawn; give one above 0"
                                           : "have no finite sum; give smaller ones");
    grid_.sampled_->weights.back() = SampleWeights(axis.weights());
  }

  void AddZipAxis(const v1::Axis& axis, const std::string& path) {
    std::vector<FieldPath> fields;
    std::vector<std::string> words;
    std::set<std::string> seen;
    for (int i = 0; i < axis.zip_size(); ++i) {
      const std::optional<FieldPath> field = LeafNamed(axis.zip(i), ItemPath(path + ".zip", i));
      if (!field) continue;
      if (!seen.insert(field->text()).second)
        problems_->Add(ItemPath(path + ".zip", i), field->text() + ": is named twice; remove one");
      words.push_back(field->last_word());
      fields.push_back(*field);
    }
    if (fields.size() != static_cast<std::size_t>(axis.zip_size())) return;
    info().name = axis.has_name() ? axis.name() : absl::StrJoin(words, "+");
    for (int i = 0; i < axis.values_size(); ++i) {
      const ListValue& list = axis.values(i).list_value();
      if (list.values_size() != axis.zip_size()) {
        const bool is_list = axis.values(i).kind_case() == Value::kListValue;
        problems_->Add(ItemPath(points().list, i),
                       (is_list ? "has " + std::to_string(list.values_size()) + " values"
                                : std::string("is not a list")) +
                           "; zip names " + std::to_string(axis.zip_size()) +
                           " fields, give a list of as many values");
        continue;
      }
      const std::unique_ptr<Message> point = grid_.form_->New();
      std::vector<std::string> labels(fields.size());
      for (std::size_t j = 0; j < fields.size(); ++j) {
        const int item = static_cast<int>(j);
        labels[j] =
            SetOrLeave(fields[j], list.values(item), ItemPath(ItemPath(points().list, i), item), point.get());
      }
      AddPoint(absl::StrJoin(labels, "+"), PatchOf(*point), i);
    }
  }

  void AddVariantAxis(const v1::Axis& axis, const std::string& path) {
    if (!axis.has_name())
      problems_->Add(path + ".name", "is missing; variants need a name for the axis, such as method");
    info().name = axis.name();
    for (int i = 0; i < axis.variants_size(); ++i) {
      const v1::Variant& variant = axis.variants(i);
      const std::string variant_path = ItemPath(points().list, i);
      const std::string problem = NameProblem(variant.label());
      if (!problem.empty()) problems_->Add(variant_path + ".label", problem);
      const std::unique_ptr<Message> point = grid_.form_->New();
      ApplyStruct(variant.set(), variant_path + ".set", point.get(), problems_);
      for (const std::string& null : NullPaths(variant.set()))
        LeaveUnset(null, variant_path + ".set." + null);
      AddPoint(variant.label(), PatchOf(*point), i);
    }
  }

  void CheckAxisName(const std::string& path) {
    const std::string& name = info().name;
    if (grid_.axes_.back().labels.empty() && name.empty()) return;  // Reported already.
    const std::string problem = NameProblem(name);
    if (!problem.empty()) problems_->Add(path + ".name", problem);
    for (std::size_t i = 0; i + 1 < grid_.axes_.size(); ++i) {
      if (grid_.axes_[i].name != name) continue;
      problems_->Add(path, "the name \"" + name + "\" is taken by " + ItemPath("axes", static_cast<int>(i)) +
                               "; give this one another with name:");
    }
  }

  // The axes that a label of the present axis enables by their `when`, by which labels that set the same may differ.
  std::string AxesSwitchedBy(const std::string& label) const {
    std::string axes;
    for (int i = 0; i < sweep_.axes_size(); ++i) {
      const auto when = sweep_.axes(i).when().find(grid_.axes_.back().name);
      if (when == sweep_.axes(i).when().end()) continue;
      const LabelFinder finder({label});
      const auto is_label = [&finder](const Value& value) {
        return finder.Find(ValueText(value)).has_value();
      };
      const auto& list = when->second.list_value().values();
      if (is_label(when->second) || std::ranges::any_of(list, is_label)) axes += std::to_string(i) + " ";
    }
    return axes;
  }

  void CheckRepeats() {
    std::unordered_map<std::string_view, std::size_t> labels;
    std::unordered_map<std::string, std::size_t> patches;
    labels.reserve(info().labels.size());
    for (std::size_t i = 0; i < info().labels.size(); ++i) {
      const auto path = [&] { return points().PathOf(static_cast<std::uint32_t>(i)); };
      const std::string& label = info().labels[i];
      if (!labels.try_emplace(label, i).second) {
        problems_->Add(path(), Quoted(label) + " is there twice; remove one");
        continue;
      }
      if (points().sets_alike) continue;  // Equal values have equal labels.
      const auto [same, is_new] =
          patches.try_emplace(KeyOf(points().patches[i]) + "\n" + AxesSwitchedBy(label), i);
      if (is_new) continue;
      problems_->Add(path(), "sets the same as " + Quoted(info().labels[same->second]) + "; remove one");
    }
  }

  const v1::SweepSpec& sweep_;
  Problems* problems_;
  SweepGrid grid_;
};

std::optional<SweepGrid> SweepGrid::Create(const v1::SweepSpec& sweep, Problems* problems) {
  return SweepGridBuilder(sweep, problems).Build();
}

absl::StatusOr<SweepGrid> SweepGrid::Create(const v1::SweepSpec& sweep) {
  Problems problems;
  std::optional<SweepGrid> grid = Create(sweep, &problems);
  if (!grid) return problems.ToStatus();
  return *std::move(grid);
}

}  // namespace inlier
