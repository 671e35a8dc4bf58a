// config.json of a Hugging Face folder with the sound weights of a small model: read alone, and opened as a whole
// folder. What must hold: every input ends, within the limits of a small model, as a model or as an error with a
// message; what is read is written and read again as the same model.
#include <fstream>
#include <map>

#include "base/check.h"
#include "base/json_text.h"
#include "core/hugging_face/weights.h"
#include "core/models/make_model.h"
#include "spec/hugging_face/config.h"
#include "tests/core/hugging_face/small_specs.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using nlohmann::json;

constexpr std::size_t kBytesMax = 1 << 16;

const std::map<std::string, std::string>& Specs() {
  static const std::map<std::string, std::string> specs = {
      {"bert", "model { bert {} } data { classification {} }"},
      {"opt",
       "model { opt { embedding_size: 8 } } attention { softmax { sink {} } gate { mlp { hidden_size: 3 } } "
       "}"},
      {"gpt2", "model { gpt2 {} }"},
      {"llama", "model { llama { kv_heads: 2 } } norm: RMS_NORM_M"},
      {"vit", "model { vit { registers: 2 } }"}};
  return specs;
}

// Folders with the models of Specs(), whose config.json each input replaces.
const TemporaryFolder& Folders() {
  static const TemporaryFolder& folders = *new TemporaryFolder;
  static const bool made = [] {
    for (const auto& [name, text] : Specs()) {
      const v1::TrialSpec spec = SmallHubSpec(text);
      const auto model = MakeModel(spec, SmallHubShape(spec)).value();
      INLIER_CHECK(ExportHuggingFaceModel(spec, *model, folders / name).ok());
    }
    return true;
  }();
  INLIER_CHECK(made);
  return folders;
}

std::string ArchitectureOf(const json& config) {
  for (const auto& [name, spec] : Specs()) {
    const auto type = config.is_object() ? config.find("model_type") : config.end();
    if (type != config.end() && (*type == json(name) || *type == json("inlier_" + name))) return name;
  }
  return "gpt2";
}

void Clear(const absl::Status& status) {
  INLIER_CHECK(status.ok() || !status.message().empty());
  INLIER_CHECK(!absl::IsInternal(status));
}

void CheckRoundTrip(HuggingFaceConfig read) {
  // One gain for all channels of a Llama is written as a vector of it.
  if (read.spec.model().has_llama() && read.spec.norm() == v1::RMS_NORM_S) read.spec.set_norm(v1::RMS_NORM_M);
  const auto written = HuggingFaceConfigOfSpec(read.spec, {.outputs = 2});
  if (!written.ok()) return Clear(written.status());
  const auto again = ParseHuggingFaceConfig(*written);
  INLIER_CHECK(again.ok() && CheckSameFunction(read.spec, again->spec, read.model_type).ok());
}

}  // namespace

void FuzzOne(std::string_view input) {
  if (input.size() > kBytesMax) return;
  const auto config = ParseJsonText(input, "config.json");
  Clear(config.status());
  if (!config.ok()) return;
  for (const FolderPart part : {FolderPart::kWhole, FolderPart::kBody}) {
    const auto read = ParseHuggingFaceConfig(*config, part);
    Clear(read.status());
    if (read.ok()) CheckRoundTrip(*read);
  }
  const auto folder = Folders() / ArchitectureOf(*config);
  std::ofstream(folder / "config.json") << input;
  const auto opened = OpenHuggingFaceModel(folder);
  Clear(opened.status());
  if (!opened.ok()) return;
  const v1::TrialSpec spec = SmallHubSpec(Specs().at(ArchitectureOf(*config)));
  Clear(LoadStartingWeights(folder, {.spec = spec, .classes = {"a", "b"}}, *opened->model).status());
}

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const auto& [name, text] : Specs()) {
    const auto config =
        HuggingFaceConfigOfSpec(SmallHubSpec(text), {.outputs = 5, .class_names = {"a", "b"}});
    INLIER_CHECK(config.ok());
    seeds.push_back(config->dump());
  }
  seeds.push_back(R"({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2000000000,
    "num_attention_heads": 4, "intermediate_size": 24, "vocab_size": 4294967295, "max_position_embeddings": 12,
    "rope_scaling": "linear", "rope_parameters": {"rope_type": "default", "rope_theta": 500},
    "layer_types": ["full_attention"], "transformers_version": "9.0"})");
  return seeds;
}

// Mostly another value of one key, so that most inputs are JSON.
std::string FuzzMutate(std::string input, FuzzRandom& random) {
  json config = json::parse(input, nullptr, false);
  if (!config.is_object() || config.empty() || random() % 4 == 0)
    return MutateBytes(std::move(input), random);
  static const std::vector<json> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           1,
                                           2,
                                           3,
                                           16,
                                           -1,
                                           4294967295,
                                           4294967296,
                                           1e308,
                                           0.5,
                                           "",
                                           "gelu",
                                           "linear",
                                           "default",
                                           json::array(),
                                           json::object(),
                                           json::array({json::array({json::object()})}),
                                           {{"rope_type", "default"}},
                                           {{"0", "a"}, {"1", "b"}},
                                           {{"a", 0}},
                                           {{"softmax", {{"clipped", {{"gamma", 1}}}}}}};
  json* at = &config;
  while (at->is_object() && !at->empty()) {
    at = &std::next(at->begin(), static_cast<std::ptrdiff_t>(random() % at->size())).value();
    if (random() % 2 == 0) break;
  }
  *at = values[random() % values.size()];
  if (random() % 8 == 0)
    config.erase(std::next(config.begin(), static_cast<std::ptrdiff_t>(random() % config.size())));
  return config.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace inlier
