#include "tests/core/support/golden_case.h"

#include <ATen/Functions.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "core/models/make_model.h"

namespace inlier {
namespace {

// "INVALID_ARGUMENT:(attention.softmax) ncs: Cannot find field." -> "attention.softmax.ncs"; any other
// message as it is.
std::string FieldOfJsonError(const std::string& message) {
  const std::size_t open = message.find('(');
  const std::size_t close = message.find(')', open);
  const std::size_t unknown = message.find(": Cannot find field");
  if (unknown == std::string::npos) return message;
  std::string path =
      open == std::string::npos || close > unknown ? "" : message.substr(open + 1, close - open - 1);
  const std::size_t name = close == std::string::npos || close > unknown ? message.find(':') + 1 : close + 1;
  const std::size_t start = message.find_first_not_of(' ', name);
  if (!path.empty()) path += '.';
  return path + message.substr(start, unknown - start);
}

// The paths of the fields that `object` sets: "training.label_smoothing".
void AddPaths(const nlohmann::json& object, const std::string& prefix, std::vector<std::string>* paths) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && !value.empty()) {
      AddPaths(value, prefix + key + ".", paths);
    } else {
      paths->push_back(prefix + key);
    }
  }
}

bool MakesTheModel(const std::string& path) {
  for (const char* part : {"model.", "attention."}) {
    if (path.rfind(part, 0) == 0) return true;
  }
  static const std::set<std::string> kOthers = {"norm",          "norm_gate", "embedding_projection",
                                                "residual_gain", "dropout",   "data.text.sequence_length"};
  return kOthers.contains(path);
}

at::Tensor Rows(const at::Tensor& tensor, std::int64_t first, std::int64_t rows) {
  return rows < 0 ? tensor : tensor.slice(0, first, std::min(first + rows, tensor.size(0)));
}

const char* PrecisionName(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "float64";
    case at::kFloat:
      return "float32";
    default:
      return c10::toString(type);
  }
}

}  // namespace

at::Tensor GoldenCase::Tensor(const std::string& key) const {
  const auto found = tensors.find(key);
  if (found == tensors.end()) {
    ADD_FAILURE() << group << "/" << name << ".safetensors: no tensor " << key;
    return at::Tensor();
  }
  return found->second;
}

std::vector<std::string> GoldenCase::KeysUnder(const std::string& prefix) const {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : tensors) {
    if (key.compare(0, prefix.size(), prefix) == 0) keys.push_back(key.substr(prefix.size()));
  }
  return keys;
}

std::filesystem::path GoldenRoot() {
  const char* folder = std::getenv("INLIER_GOLDEN_DIR");
  return folder != nullptr && *folder != '\0' ? folder : INLIER_GOLDEN_DEFAULT;
}

const std::set<std::string>& MissingFields() {
  static const std::set<std::string> fields;
  return fields;
}

std::vector<GoldenCase> FindGoldenCases(const std::string& group, const std::set<std::string>& missing) {
  std::vector<GoldenCase> cases;
  const std::filesystem::path folder = GoldenRoot() / group;
  std::set<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  for (const std::filesystem::path& path : files) {
    GoldenCase golden;
    golden.group = group;
    golden.name = path.stem().string();
    std::ifstream file(path);
    golden.json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (golden.json.is_discarded()) {
      ADD_FAILURE() << path << ": not JSON";
      continue;
    }
    std::filesystem::path tensors = path;
    tensors.replace_extension(".safetensors");
    if (std::filesystem::exists(tensors)) {
      absl::StatusOr<TensorMap> loaded = LoadSafetensors(tensors);
      if (!loaded.ok()) {
        ADD_FAILURE() << std::string(loaded.status().message());
        continue;
      }
      golden.tensors = *std::move(loaded);
    }
    if (golden.json.contains("spec")) {
      v1::TrialSpec spec;
      const auto status = google::protobuf::util::JsonStringToMessage(golden.json["spec"].dump(), &spec);
      if (status.ok()) {
        golden.spec = std::move(spec);
      } else if (std::string field = FieldOfJsonError(status.ToString()); missing.contains(field)) {
        golden.needs = std::move(field);
      } else {
        ADD_FAILURE() << path << ": the block `spec` cannot be read: " << status.ToString()
                      << "; if the schema is to get the field later, name it in MissingFields()";
        continue;
      }
    }
    cases.push_back(std::move(golden));
  }
  return cases;
}

bool SpecIsUsed(const GoldenCase& golden, const std::set<std::string>& others) {
  std::vector<std::string> paths;
  AddPaths(golden.json.value("spec", nlohmann::json::object()), "", &paths);
  bool used = true;
  for (const std::string& path : paths) {
    if (MakesTheModel(path) || others.contains(path)) continue;
    ADD_FAILURE() << golden.group << "/" << golden.name << ": spec." << path
                  << " is set, and no test reads it";
    used = false;
  }
  return used;
}

bool FillParameters(torch::nn::Module& model, const GoldenCase& golden, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  const std::vector<std::string> names = golden.KeysUnder("param/");
  std::set<std::string> left(names.begin(), names.end());
  model.to(dtype);
  bool complete = true;
  for (auto& item : model.named_parameters()) {
    if (left.erase(item.key()) == 0) {
      ADD_FAILURE() << golden.group << "/" << golden.name << ": the model's parameter " << item.key()
                    << " is not in the case";
      complete = false;
      continue;
    }
    const at::Tensor stored = golden.Tensor("param/" + item.key());
    if (stored.sizes() != item.value().sizes()) {
      ADD_FAILURE() << golden.group << "/" << golden.name << ": " << item.key() << " has shape "
                    << item.value().sizes() << ", in the case " << stored.sizes();
      complete = false;
      continue;
    }
    item.value().copy_(stored);
  }
  for (const std::string& name : left) {
    ADD_FAILURE() << golden.group << "/" << golden.name << ": the model has no parameter " << name;
    complete = false;
  }
  return complete;
}

std::shared_ptr<LanguageModel> ModelOfCase(const GoldenCase& golden, at::ScalarType dtype) {
  absl::StatusOr<std::shared_ptr<LanguageModel>> model = MakeLanguageModel(golden.spec.value());
  if (!model.ok()) {
    ADD_FAILURE() << golden.group << "/" << golden.name << ": " << std::string(model.status().message());
    return nullptr;
  }
  (*model)->eval();
  return FillParameters(**model, golden, dtype) ? *model : nullptr;
}

ModelInput InputOfCase(const GoldenCase& golden, const std::string& prefix, std::int64_t first,
                       std::int64_t rows) {
  ModelInput input;
  input.ids = Rows(golden.Tensor(prefix + "input_ids"), first, rows);
  if (golden.Has(prefix + "attention_mask"))
    input.attention_mask = Rows(golden.Tensor(prefix + "attention_mask"), first, rows);
  if (golden.Has(prefix + "token_type_ids"))
    input.token_type_ids = Rows(golden.Tensor(prefix + "token_type_ids"), first, rows);
  return input;
}

at::Tensor LabelsOfCase(const GoldenCase& golden, const std::string& prefix, std::int64_t first,
                        std::int64_t rows) {
  return Rows(golden.Tensor(prefix + "labels"), first, rows);
}

Tolerance RelativeToLargest(double bound, const at::Tensor& expected) {
  return {.absolute = bound * std::max(expected.abs().max().item<double>(), 0.01)};
}

GoldenCase WithModelOf(GoldenCase golden, const std::vector<GoldenCase>& cases, const std::string& file) {
  const std::string name = file.substr(0, file.find(".safetensors"));
  for (const GoldenCase& other : cases) {
    if (other.name != name) continue;
    golden.spec = other.spec;
    golden.needs = other.needs;
    for (const auto& [key, tensor] : other.tensors) {
      if (!key.starts_with("out/")) golden.tensors.emplace(key, tensor);
    }
  }
  if (!golden.spec && golden.needs.empty())
    ADD_FAILURE() << golden.group << "/" << golden.name << ": there is no case " << file;
  return golden;
}

GoldenReport::GoldenReport(std::string group) : group_(std::move(group)) {}

bool GoldenReport::SkipWhatIsNotSupported(const GoldenCase& golden) {
  if (golden.needs.empty()) return false;
  ++skipped_;
  std::printf("golden %-18s %-34s needs %s\n", golden.group.c_str(), golden.name.c_str(),
              golden.needs.c_str());
  return true;
}

bool GoldenReport::Accepts(const GoldenCase& golden, bool settings_are_used) {
  if (settings_are_used) return true;
  ++failed_;
  std::printf("golden %-18s %-34s has a setting that is not read  FAIL\n", golden.group.c_str(),
              golden.name.c_str());
  return false;
}

void GoldenReport::Finish() {
  std::printf("golden %s: %d passed, %d failed, %d need other parts\n", group_.c_str(), passed_, failed_,
              skipped_);
  std::fflush(stdout);
  if (failed_ > 0) ADD_FAILURE() << failed_ << " golden comparisons of " << group_ << " failed";
  if (passed_ + failed_ == 0)
    ADD_FAILURE() << "no golden case was compared in " << (GoldenRoot() / group_) << ", " << skipped_
                  << " need other parts";
}

GoldenComparison::GoldenComparison(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision)
    : report_(report), golden_(golden), precision_(PrecisionName(precision)) {}

GoldenComparison::~GoldenComparison() {
  if (compared_ == 0) {
    ADD_FAILURE() << golden_.group << "/" << golden_.name << ": nothing was compared";
    worst_ratio_ = std::numeric_limits<double>::infinity();
  }
  const bool passed = worst_ratio_ <= 1;
  ++(passed ? report_.passed_ : report_.failed_);
  std::printf("golden %-18s %-34s %s  %4d compared, worst %8.2e of its tolerance (%.3g of %.3g, %s)  %s\n",
              golden_.group.c_str(), golden_.name.c_str(), precision_.c_str(), compared_, worst_ratio_,
              worst_error_, worst_allowed_, worst_what_.c_str(), passed ? "pass" : "FAIL");
}

void GoldenComparison::Record(const std::string& what, double ratio, double error, double allowed) {
  ++compared_;
  if (!(ratio <= 1)) {
    ADD_FAILURE() << golden_.group << "/" << golden_.name << " in " << precision_ << ": " << what
                  << " is off by " << error << ", allowed " << allowed;
  }
  if (compared_ == 1 || !(ratio <= worst_ratio_)) {
    worst_ratio_ = ratio;
    worst_error_ = error;
    worst_allowed_ = allowed;
    worst_what_ = what;
  }
}

void GoldenComparison::Tensor(const std::string& key, const at::Tensor& actual, Tolerance tolerance) {
  const at::Tensor expected = golden_.Tensor(key);
  if (expected.defined()) Tensors(key, actual, expected, tolerance);
}

void GoldenComparison::Tensors(const std::string& what, const at::Tensor& actual, const at::Tensor& expected,
                               Tolerance tolerance) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!actual.defined() || actual.numel() != expected.numel()) {
    ADD_FAILURE() << golden_.group << "/" << golden_.name << ": " << what << " has shape "
                  << (actual.defined() ? c10::str(actual.sizes()) : "undefined") << ", expected "
                  << expected.sizes();
    Record(what, kInfinity, kInfinity, 0);
    return;
  }
  if (expected.numel() == 0) return Record(what, 0, 0, 0);
  const at::Tensor wanted = expected.detach().cpu().to(at::kDouble).reshape({-1});
  const at::Tensor got = actual.detach().cpu().to(at::kDouble).reshape({-1});
  const double magnitude = wanted.abs().max().item<double>();
  const double absolute = tolerance.absolute * (tolerance.per_magnitude ? std::max(1.0, magnitude) : 1.0);
  const at::Tensor allowed = wanted.abs() * tolerance.relative + absolute;
  // Equal values (infinities too) are no error; a NaN on one side is.
  const at::Tensor errors = at::where(got.eq(wanted), at::zeros_like(wanted), (got - wanted).abs());
  const at::Tensor ratios =
      at::where(errors.eq(0), at::zeros_like(errors), errors / allowed).nan_to_num(kInfinity, kInfinity);
  const std::int64_t worst = ratios.argmax().item<std::int64_t>();
  Record(what, ratios[worst].item<double>(), errors[worst].item<double>(), allowed[worst].item<double>());
}

void GoldenComparison::Number(const std::string& what, double actual, double expected, Tolerance tolerance) {
  Tensors(what, at::scalar_tensor(actual, at::kDouble), at::scalar_tensor(expected, at::kDouble), tolerance);
}

void GoldenComparison::Equal(const std::string& what, const std::string& actual,
                             const std::string& expected) {
  if (actual != expected) {
    ADD_FAILURE() << golden_.group << "/" << golden_.name << ": " << what << " is \"" << actual
                  << "\", expected \"" << expected << "\"";
  }
  Record(what, actual == expected ? 0 : std::numeric_limits<double>::infinity(), 0, 0);
}

}  // namespace inlier
