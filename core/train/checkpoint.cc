#include "core/train/checkpoint.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/files/file.h"
#include "base/status.h"
#include "core/models/sites.h"
#include "core/optim/weight_axes.h"
#include "core/train/training_step.h"
#include "nlohmann/json.hpp"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

constexpr char kOptimizerPrefix[] = "optimizer/";
constexpr char kSecondMoment[] = "second_moment/";
constexpr char kSecondMomentSums[] = "optimizer/second_moment_sums/";
constexpr char kBestPrefix[] = "optimizer/best/";
constexpr char kPeriodicPrefix[] = "step-";
constexpr char kSuffix[] = ".safetensors";
constexpr std::size_t kPeriodicKept = 2;

constexpr char kSpecKey[] = "inlier.spec";
constexpr char kStepKey[] = "inlier.step";
constexpr char kDatasetKey[] = "inlier.dataset_digest";
constexpr char kStartKey[] = "inlier.start_digest";
constexpr char kVocabularyKey[] = "inlier.vocabulary";
constexpr char kScriptsKey[] = "inlier.scripts";
constexpr char kClassesKey[] = "inlier.classes";
constexpr char kBuildKey[] = "inlier.build";
constexpr char kFinalKey[] = "inlier.final";
constexpr char kSecondsKey[] = "inlier.train_seconds";
constexpr char kBestStepKey[] = "inlier.best_step";
constexpr char kBestValueKey[] = "inlier.best_value";
constexpr char kBestSinceKey[] = "inlier.best_points_since";

std::string ShapeOf(at::IntArrayRef sizes) { return absl::StrCat("(", absl::StrJoin(sizes, ", "), ")"); }

StringMap Metadata(const CheckpointInfo& info) {
  StringMap metadata = {{"format", "pt"},  // Required by Hugging Face's readers.
                        {kSpecKey, ResolvedJson(info.spec)},
                        {kStepKey, absl::StrCat(info.step)},
                        {kDatasetKey, info.dataset_digest},
                        {kBuildKey, info.build},
                        {kFinalKey, info.final ? "true" : "false"}};
  if (!info.origin.start_digest.empty()) metadata[kStartKey] = info.origin.start_digest;
  if (!info.origin.vocabulary.empty()) metadata[kVocabularyKey] = info.origin.vocabulary;
  if (!info.origin.scripts.empty()) metadata[kScriptsKey] = info.origin.scripts;
  if (!info.origin.classes.empty()) metadata[kClassesKey] = nlohmann::json(info.origin.classes).dump();
  if (!info.final) metadata[kSecondsKey] = absl::StrCat(info.train_seconds);
  return metadata;
}

absl::StatusOr<CheckpointInfo> InfoFromMetadata(const std::filesystem::path& path,
                                                const StringMap& metadata) {
  const auto value = [&metadata](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  CheckpointInfo info;
  if (value(kSpecKey).empty() || !absl::SimpleAtoi(value(kStepKey), &info.step)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": not a checkpoint of inlier (its metadata has no ", kSpecKey, " and ",
                     kStepKey, "); give a file that a training of inlier wrote"));
  }
  absl::StatusOr<v1::TrialSpec> spec = TrialSpecFromJson(value(kSpecKey));
  if (!spec.ok()) return Annotate(spec.status(), absl::StrCat("reading the spec in ", path.string()));
  info.spec = *std::move(spec);
  info.dataset_digest = value(kDatasetKey);
  info.origin.start_digest = value(kStartKey);
  info.origin.vocabulary = value(kVocabularyKey);
  info.origin.scripts = value(kScriptsKey);
  if (const nlohmann::json classes = nlohmann::json::parse(value(kClassesKey), nullptr, false);
      classes.is_array()) {
    for (const nlohmann::json& name : classes)
      info.origin.classes.push_back(name.is_string() ? name.get<std::string>() : "");
  }
  info.build = value(kBuildKey);
  info.final = value(kFinalKey) == "true";
  if (!absl::SimpleAtod(value(kSecondsKey), &info.train_seconds)) info.train_seconds = 0;
  return info;
}

// Names the fields that training depends on and that differ: "training.steps is 100 in the checkpoint and 200 here".
std::string Differences(v1::TrialSpec theirs, v1::TrialSpec ours) {
  for (v1::TrialSpec* spec : {&theirs, &ours}) {
    spec->clear_quantization();
    spec->clear_evaluation();
  }
  const nlohmann::json left = nlohmann::json::parse(CanonicalJson(theirs)).flatten();
  const nlohmann::json right = nlohmann::json::parse(CanonicalJson(ours)).flatten();
  std::vector<std::string> differences;
  const auto text = [](const nlohmann::json& values, const std::string& key) {
    return values.contains(key) ? values.at(key).dump() : std::string("the default");
  };
  std::set<std::string> keys;
  for (const nlohmann::json* values : {&left, &right}) {
    for (const auto& [key, value] : values->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (key.empty() || text(left, key) == text(right, key)) continue;
    differences.push_back(absl::StrCat(absl::StrReplaceAll(key.substr(1), {{"/", "."}}), " is ",
                                       text(left, key), " in the checkpoint and ", text(right, key),
                                       " here"));
  }
  return absl::StrJoin(differences, "; ");
}

void AddBest(const BestSoFar& best, TensorMap* tensors, StringMap* metadata) {
  for (const auto& [name, tensor] : best.model) (*tensors)[kBestPrefix + name] = tensor;
  (*metadata)[kBestStepKey] = absl::StrCat(best.step);
  (*metadata)[kBestValueKey] = absl::StrFormat("%.17g", best.value);
  (*metadata)[kBestSinceKey] = absl::StrCat(best.points_since);
}

void RemoveOldPeriodic(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& entry : EntriesOf(folder)) {  // By step, for steps have a fixed width.
    const std::string name = entry.filename().string();
    if (absl::StartsWith(name, kPeriodicPrefix) && absl::EndsWith(name, kSuffix)) files.push_back(entry);
  }
  std::error_code error;
  for (std::size_t i = 0; i + kPeriodicKept < files.size(); ++i) std::filesystem::remove(files[i], error);
}

}  // namespace

std::string PeriodicCheckpointName(std::uint64_t step) {
  return absl::StrFormat("%s%010d%s", kPeriodicPrefix, step, kSuffix);
}

TensorMap TrainedTensors(const Model& model, const std::vector<NamedParameter>& optimizer_state) {
  TensorMap tensors;
  for (const auto& [name, parameter] : ParametersOf(model)) tensors[name] = parameter.detach();
  for (const auto& [name, tensor] : optimizer_state) {
    const std::string weight(absl::StripPrefix(name, kSecondMoment));
    if (weight != name && IsFfnOutputWeight(weight))
      tensors[kSecondMomentSums + weight] = tensor.detach().sum(AxesOf(weight).input);
  }
  return tensors;
}

absl::StatusOr<v1::CheckpointSaved> SaveCheckpoint(const std::filesystem::path& folder, const Model& model,
                                                   const std::vector<NamedParameter>& optimizer_state,
                                                   const CheckpointInfo& info,
                                                   const std::optional<BestSoFar>& best) {
  TensorMap tensors;
  StringMap metadata = Metadata(info);
  if (info.final) {
    tensors = best ? best->model : TrainedTensors(model, optimizer_state);
  } else {
    for (const auto& [name, parameter] : ParametersOf(model)) tensors[name] = parameter.detach();
    for (const auto& [name, tensor] : optimizer_state) tensors[kOptimizerPrefix + name] = tensor;
    if (best) AddBest(*best, &tensors, &metadata);
  }
  const std::string name = info.final ? kFinalCheckpointName : PeriodicCheckpointName(info.step);
  const std::filesystem::path path = folder / name;
  v1::CheckpointSaved saved;
  const absl::Status written = SaveSafetensors(path, tensors, metadata, saved.mutable_sha256());
  if (!written.ok()) {
    return Annotate(written,
                    absl::StrCat("writing the checkpoint after update ", info.step,
                                 "; check that the disk has room and that the folder can be written"));
  }
  saved.set_step(info.step);
  saved.set_path(name);
  saved.set_bytes(SizeOf(path));
  saved.set_final(info.final);
  if (!info.final) RemoveOldPeriodic(folder);
  return saved;
}

Checkpoint::Checkpoint(std::filesystem::path path, SafetensorsReader reader, CheckpointInfo info)
    : path_(std::move(path)), reader_(std::move(reader)), info_(std::move(info)) {}

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::filesystem::path& path, const DataRoots& roots) {
  ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path, roots));
  ASSIGN_OR_RETURN(CheckpointInfo info, InfoFromMetadata(path, reader.metadata()));
  return Checkpoint(path, std::move(reader), std::move(info));
}

absl::Status Checkpoint::CheckMatches(const v1::TrialSpec& spec, const std::string& dataset_digest) const {
  if (TrainFingerprint(info_.spec) != TrainFingerprint(spec)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path_.string(), ": the checkpoint of another training: ", Differences(info_.spec, spec)));
  }
  if (info_.dataset_digest != dataset_digest) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_.string(), ": trained on other data (digest ", info_.dataset_digest.substr(0, 12),
                     ", here ", dataset_digest.substr(0, 12), "): the corpus has changed"));
  }
  return absl::OkStatus();
}

std::vector<std::int64_t> Checkpoint::WeightShape(const std::string& name) const {
  const auto entry = reader_.entries().find(name);
  if (entry == reader_.entries().end()) return {};
  return {entry->second.shape.begin(), entry->second.shape.end()};
}

absl::Status Checkpoint::LoadWeights(Model& model) const {
  const std::vector<NamedParameter> parameters = ParametersOf(model);
  const auto& entries = reader_.entries();
  std::size_t weights_in_file = 0;
  for (const auto& [name, entry] : entries) weights_in_file += !absl::StartsWith(name, kOptimizerPrefix);
  for (const auto& [name, parameter] : parameters) {
    const auto entry = entries.find(name);
    if (entry == entries.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_.string(), ": the tensor ", name, " that the model needs is missing"));
    }
    if (parameter.sizes() != at::IntArrayRef(entry->second.shape)) {
      return absl::InvalidArgumentError(absl::StrCat(path_.string(), ": the tensor ", name, " has shape ",
                                                     ShapeOf(entry->second.shape), " where the model needs ",
                                                     ShapeOf(parameter.sizes())));
    }
  }
  if (weights_in_file != parameters.size()) {
    for (const auto& [name, entry] : entries) {
      const auto same_name = [&name](const NamedParameter& parameter) { return parameter.first == name; };
      if (!absl::StartsWith(name, kOptimizerPrefix) &&
          std::none_of(parameters.begin(), parameters.end(), same_name)) {
        return absl::InvalidArgumentError(absl::StrCat(path_.string(),
                                                       ": the model has no place for the tensor number ",
                                                       entry.number, " of its header"));
      }
    }
  }
  c10::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    ASSIGN_OR_RETURN(const at::Tensor tensor, reader_.LoadWeight(name));
    parameter.detach().copy_(tensor);
  }
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> Checkpoint::SecondMomentSums(const std::string& weight) const {
  const std::string name = kSecondMomentSums + weight;
  return reader_.entries().contains(name) ? reader_.Load(name) : at::Tensor();
}

absl::Status Checkpoint::LoadOptimizer(Optimizer& optimizer) const {
  // A periodic checkpoint without optimizer tensors belongs to an optimizer without state (plain SGD).
  if (info_.final) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_.string(),
                     ": has no optimizer state, so training cannot continue from it (a final checkpoint)"));
  }
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, entry] : reader_.entries()) {
    if (!absl::StartsWith(name, kOptimizerPrefix) || absl::StartsWith(name, kBestPrefix)) continue;
    ASSIGN_OR_RETURN(state[name.substr(sizeof(kOptimizerPrefix) - 1)], reader_.Load(name));
  }
  const absl::Status loaded = optimizer.LoadState(state);
  return loaded.ok()
             ? loaded
             : absl::Status(loaded.code(), absl::StrCat(path_.string(), ": ", std::string(loaded.message())));
}

absl::StatusOr<std::optional<BestSoFar>> Checkpoint::LoadBest() const {
  const StringMap& metadata = reader_.metadata();
  if (info_.final || !metadata.contains(kBestStepKey)) return std::optional<BestSoFar>();
  BestSoFar best;
  const auto text = [&metadata](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  if (!absl::SimpleAtoi(text(kBestStepKey), &best.step) ||
      !absl::SimpleAtod(text(kBestValueKey), &best.value) ||
      !absl::SimpleAtoi(text(kBestSinceKey), &best.points_since)) {
    return absl::DataLossError(absl::StrCat(path_.string(), ": its best step cannot be read"));
  }
  for (const auto& [name, entry] : reader_.entries()) {
    if (!absl::StartsWith(name, kBestPrefix)) continue;
    ASSIGN_OR_RETURN(best.model[name.substr(sizeof(kBestPrefix) - 1)], reader_.Load(name));
  }
  return std::optional<BestSoFar>(std::move(best));
}

}  // namespace inlier
