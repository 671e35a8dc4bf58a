#include "spec/values/ties.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "spec/schema/limits.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/values/portable_math.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::uint32_t kDigits = 15;  // As many as every double keeps.
constexpr double kWholeMax = 0x1p53;

std::string GroupOf(const std::string& path) { return path.substr(0, path.rfind('.') + 1); }

// A number below `root`, or the problem.
std::string ParseNumberPath(const google::protobuf::Descriptor* root, const std::string& text,
                            FieldPath* path) {
  if (std::string problem = FieldPath::TryParse(root, text, path); !problem.empty()) return problem;
  if (path->field()->is_repeated() || !IsNumber(path->field()))
    return "is not a number; an expression has numbers alone, so use variants or zip for others";
  return "";
}

// True where word `depth` of the path is the chosen member of its choice, or of none.
bool Chooses(const FieldPath& path, std::size_t depth, const Message& point) {
  const Message* at = &point;
  for (std::size_t i = 0; i < depth; ++i) at = &at->GetReflection()->GetMessage(*at, path.fields()[i]);
  const auto* choice = path.fields()[depth]->containing_oneof();
  return choice == nullptr || ChosenMember(*at, choice->name()) == path.fields()[depth]->name();
}

// The same of its first words.
bool ChoosesAll(const FieldPath& path, std::size_t words, const Message& point) {
  for (std::size_t depth = 0; depth < words; ++depth) {
    if (!Chooses(path, depth, point)) return false;
  }
  return true;
}

// The value that a point has, or the problem.
std::string ReadNumber(const FieldPath& path, const Message& point, double* value) {
  if (!ChoosesAll(path, path.fields().size() - 1, point)) return "is of a choice that is not made there";
  const Message& parent = path.Parent(point);
  const google::protobuf::Reflection& reflection = *parent.GetReflection();
  if (!reflection.HasField(parent, path.field())) {
    const FieldDescriptor* preset = parent.GetDescriptor()->FindFieldByName("preset");
    if (!path.field()->has_default_value() || !Chooses(path, path.fields().size() - 1, point) ||
        (preset != nullptr && reflection.HasField(parent, preset)))
      return "has no value there (what a preset or the data decides comes later)";
  }
  *value = NumberOf(path.field(), parent);
  return "";
}

double Rounded(double value) {
  const bool exact = !std::isfinite(value) || (value == std::trunc(value) && std::abs(value) <= kWholeMax);
  return exact ? value : RoundedTo(kDigits, value);
}

// Sets the field; "" or the problem.
std::string SetNumber(const FieldPath& path, double number, Message* point) {
  if (!std::isfinite(number))
    return absl::StrCat(FormatNumber(number), " is not finite; change the expression or the values it uses");
  if (IsWhole(path.field()) && number != std::trunc(number))
    return absl::StrCat(FormatNumber(number),
                        " is not a whole number, and the field takes no others; put the "
                        "expression into round(), floor() or ceil()");
  google::protobuf::Value value;
  value.set_number_value(number);
  Message* parent = path.MutableParent(point);
  std::string problem = SetLeafValue(path.field(), value, parent);
  return problem.empty() ? RangeProblem(path.field(), *parent) : problem;
}

}  // namespace

Ties::Ties(const google::protobuf::Map<std::string, std::string>& tied,
           const google::protobuf::Descriptor* root, Problems* problems) {
  if (tied.size() > static_cast<std::size_t>(Limits::kTiesMax)) {
    problems->Add("tied", absl::StrCat(tied.size(), " ties are more than ", Limits::kTiesMax,
                                       "; put what is the same at all points into base"));
    return;
  }
  const std::size_t before = problems->count();
  for (const auto& [path, text] : std::map(tied.begin(), tied.end())) Add(path, text, root, problems);
  if (problems->count() == before) Sort(problems);
}

void Ties::Add(const std::string& path, const std::string& text, const google::protobuf::Descriptor* root,
               Problems* problems) {
  const std::string place = "tied." + absl::Utf8SafeCEscape(path);
  Tie tie;
  if (const std::string problem = ParseNumberPath(root, path, &tie.field); !problem.empty())
    return problems->Add(place, problem);
  const auto* choice = tie.field.field()->containing_oneof();
  for (const Tie& other : ties_) {
    const std::string& sibling = other.field.text();
    if (choice != nullptr && other.field.field()->containing_oneof() == choice &&
        GroupOf(sibling) == GroupOf(path))
      return problems->Add(place, "is of one choice with " + sibling + "; tie one of them");
  }
  if (text.size() > Limits::kTieBytesMax)
    return problems->Add(place,
                         absl::StrCat(text.size(), " bytes are more than ", Limits::kTieBytesMax,
                                      "; shorten the expression, or tie a part of it to a field of its own"));
  auto expression = Expression::Parse(text);
  if (!expression.ok()) return problems->Add(place, std::string(expression.status().message()));
  tie.expression = *std::move(expression);
  if (tie.expression->names().empty())
    return problems->Add(place, "uses no field and is the same at all points; put the value into base");
  if (tie.expression->names().size() > Limits::kTieFieldsMax)
    return problems->Add(place,
                         absl::StrCat("uses ", tie.expression->names().size(), " fields, more than ",
                                      Limits::kTieFieldsMax, "; tie a part of it to a field of its own"));
  for (const std::string& name : tie.expression->names()) {
    if (const std::string problem = ParseNumberPath(root, name, &tie.sources.emplace_back());
        !problem.empty())
      return problems->Add(place, absl::StrCat(name, ": ", problem));
  }
  ties_.push_back(std::move(tie));
}

void Ties::Sort(Problems* problems) {
  std::vector<Tie> sorted, rest = std::move(ties_);
  // The first tie of `rest` that `tie` uses.
  const auto used_by = [&rest](const Tie& tie) {
    return std::ranges::find_if(rest, [&tie](const Tie& other) {
      return std::ranges::find(tie.sources, other.field.text(), &FieldPath::text) != tie.sources.end();
    });
  };
  while (!rest.empty()) {
    const auto next = std::ranges::find_if(rest, [&](const Tie& tie) { return used_by(tie) == rest.end(); });
    if (next == rest.end()) break;
    sorted.push_back(std::move(*next));
    rest.erase(next);
  }
  ties_ = std::move(sorted);
  if (rest.empty()) return;
  std::vector<std::string> chain;
  auto at = rest.begin();
  while (std::ranges::find(chain, at->field.text()) == chain.end()) {
    chain.push_back(at->field.text());
    at = used_by(*at);
  }
  chain.erase(chain.begin(), std::ranges::find(chain, at->field.text()));
  chain.push_back(chain.front());
  problems->Add("tied." + chain.front(),
                absl::StrCat("follows from itself: ", absl::StrJoin(chain, " uses "),
                             "; leave out one of these ties and give its field a value"));
}

bool Ties::Has(const std::string& path) const {
  return std::ranges::any_of(ties_, [&path](const Tie& tie) { return tie.field.text() == path; });
}

std::string Ties::SetBy(const Message& part) const {
  for (const Tie& tie : ties_) {
    const Message& parent = tie.field.Parent(part);
    const auto* choice = tie.field.field()->containing_oneof();
    if (choice != nullptr ? parent.GetReflection()->HasOneof(parent, choice) : tie.field.Has(part))
      return tie.field.text();
  }
  return "";
}

void Ties::CheckUse(const std::vector<std::unique_ptr<Message>>& parts, Problems* problems) const {
  for (const Tie& tie : ties_) {
    for (std::size_t depth = 0; depth + 1 < tie.field.fields().size(); ++depth) {
      if (std::ranges::any_of(parts, [&](const auto& part) { return Chooses(tie.field, depth, *part); }))
        continue;
      problems->Add("tied." + tie.field.text(),
                    absl::StrCat("no point chooses ", tie.field.fields()[depth]->name(),
                                 ", and a tie does not; choose it in base or in an axis"));
    }
  }
}

std::optional<Problem> Ties::Apply(Message* point) const {
  for (const Tie& tie : ties_) {
    if (!ChoosesAll(tie.field, tie.field.fields().size() - 1, *point)) continue;
    const std::string place = "tied." + tie.field.text();
    std::vector<double> values(tie.sources.size());
    std::string given;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = tie.sources[i].text();
      if (const std::string problem = ReadNumber(tie.sources[i], *point, &values[i]); !problem.empty())
        return Problem{place, absl::StrCat(name, " ", problem, "; give it in base or in an axis")};
      absl::StrAppend(&given, given.empty() ? " with " : ", ", name, "=", FormatNumber(values[i]));
    }
    const std::string problem = SetNumber(tie.field, Rounded(tie.expression->Value(values)), point);
    if (!problem.empty()) return Problem{place, absl::StrCat(tie.expression->text(), given, ": ", problem)};
  }
  return std::nullopt;
}

}  // namespace inlier
