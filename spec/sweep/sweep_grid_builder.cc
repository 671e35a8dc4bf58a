// SweepGrid::Create: the axes of a SweepSpec, checked and compiled.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/utf8.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "spec/schema/field_path.h"
#include "spec/schema/param_range.h"
#include "spec/schema/struct_value.h"
#include "spec/sweep/label_finder.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

using google::protobuf::ListValue;
using google::protobuf::Message;
using google::protobuf::Value;

namespace {

constexpr std::size_t kPointNameMax = 100;

// "" for a name or label that tables can show: some characters, none of them for control.
std::string NameProblem(const std::string& name) {
  if (name.empty()) return "is empty; give a short text";
  if (name.size() > kPointNameMax)
    return "has more than " + std::to_string(kPointNameMax) + " bytes; give a short text";
  if (!IsUtf8(name)) return "is not UTF-8; save it as UTF-8";
  const bool control =
      std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return control ? "has a control character; remove it" : "";
}

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
    if (axis.has_range()) {
      AddRangeAxis(axis, path);
      CheckAxisName(path);
      return;
    }
    if (is_field + is_zip + is_variants != 1 || (is_variants && axis.values_size() > 0))
      return problems_->Add(
          path, std::string(is_field + is_zip + is_variants == 0 ? "has nothing to vary" : "mixes forms") +
                    "; give exactly one of: field with values, zip with values, name with variants");
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

  void AddFieldAxis(const v1::Axis& axis, const std::string& path) {
    const std::optional<FieldPath> field = LeafNamed(axis.field(), path + ".field");
    if (!field) return;
    info().field = field->text();
    info().name = axis.has_name() ? axis.name() : field->last_word();
    for (int i = 0; i < axis.values_size(); ++i) {
      const std::unique_ptr<Message> point = grid_.form_->New();
      std::string label;
      const std::string problem = SetField(*field, axis.values(i), point.get(), &label);
      if (!problem.empty()) problems_->Add(ItemPath(points().list, i), problem);
      AddPoint(std::move(label), PatchOf(*point), i);
    }
  }

  // The two ends of the range stand for all between them in the checks.
  void AddRangeAxis(const v1::Axis& axis, const std::string& path) {
    const std::string range_path = path + ".range";
    if (!axis.has_field() || axis.zip_size() > 0 || axis.variants_size() > 0 || axis.values_size() > 0)
      return problems_->Add(path, axis.values_size() > 0 ? "has values and a range; keep one of them"
                                                         : "a range is of one field; give field with range");
    if (!sweep_.has_sampling())
      return problems_->Add(
          range_path,
          "has no end of values to run them all; add sampling to the sweep, such as {sobol: {trials: "
          "64}}, or give values");
    if (axis.each())
      return problems_->Add(path + ".each",
                            "a range cannot be run with each of its values; leave out each, or give values");
    const std::optional<FieldPath> field = LeafNamed(axis.field(), path + ".field");
    if (!field) return;
    info().field = field->text();
    info().name = axis.has_name() ? axis.name() : field->last_word();
    using google::protobuf::FieldDescriptor;
    const FieldDescriptor::CppType type = field->field()->cpp_type();
    const bool whole = type == FieldDescriptor::CPPTYPE_INT32 || type == FieldDescriptor::CPPTYPE_UINT32;
    if (!whole && type != FieldDescriptor::CPPTYPE_DOUBLE)
      return problems_->Add(range_path, field->text() + " is not a number; give values");
    const std::string problem = RangeSpecProblem(axis.range(), whole);
    if (!problem.empty()) return problems_->Add(range_path, problem);
    points().list = range_path;
    points().sets_alike = true;
    for (const auto& [end, name] :
         {std::pair(axis.range().min(), ".min"), std::pair(axis.range().max(), ".max")}) {
      Value value;
      value.set_number_value(end);
      const std::unique_ptr<Message> point = grid_.form_->New();
      std::string label;
      const std::string end_problem = SetField(*field, value, point.get(), &label);
      if (!end_problem.empty()) problems_->Add(range_path + name, end_problem);
      info().labels.push_back(std::move(label));
      points().patches.push_back(PatchOf(*point));
    }
    const SampleRange range(axis.range(), whole);
    info().range = range.ToString();
    grid_.sampled_->drawn.back() = DrawnField{range, *field};
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
        const std::string problem =
            SetField(fields[j], list.values(static_cast<int>(j)), point.get(), &labels[j]);
        if (!problem.empty())
          problems_->Add(ItemPath(ItemPath(points().list, i), static_cast<int>(j)), problem);
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
