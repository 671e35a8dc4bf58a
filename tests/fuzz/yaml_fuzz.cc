// The YAML reader: a sweep (with its scales), and the configurations of both daemons. What is accepted passes
// the coordinator's own check too.
#include "base/check.h"
#include "inlier/v1/config.pb.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/fuzz/fuzz.h"

namespace inlier {
namespace {

constexpr std::size_t kBytesMax = 1 << 16;

template <typename Status>
void Clear(const Status& status) {
  INLIER_CHECK(status.ok() || !status.message().empty());
}

}  // namespace

void FuzzOne(std::string_view input) {
  if (input.size() > kBytesMax) return;
  const auto sweep = ReadSweepText(input, "fuzz.yaml");
  Clear(sweep.status());
  if (sweep.ok()) INLIER_CHECK(CheckedGrid(*sweep).ok());
  Clear(ReadSweepText(input, "fuzz.yaml", {"training.steps=5"}, "small").status());
  Clear(ReadYaml<v1::CoordinatorConfig>(input, "fuzz.yaml").status());
  Clear(ReadYaml<v1::WorkerConfig>(input, "fuzz.yaml").status());
}

std::vector<std::string> FuzzSeeds() {
  return {
      R"(name: clipped_softmax_gamma
description: what gamma does
base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}
axes:
  - {field: attention.softmax.clipped.gamma, values: [0, -0.003, -0.03, -0.1]}
  - {name: method, variants: [{label: vanilla, set: {}}, {label: gated, set: {attention: {softmax: {clipped: {gamma: -0.1}}}}}]}
  - {zip: [training.optimizer.adamw.learning_rate, training.steps], values: [[1e-3, 2000], [3e-4, 4000]]}
  - {field: seed, values: [1, 2, 3]}
  - {field: quantization.weights.bits, values: [8, 6, 4]}
exclude: [{seed: 3}]
max_parallel: 2
retry: {max_crashes: 1}
scales:
  small: {base: {training: {steps: 10}}, axes: [{field: seed, values: [1]}]}
table: {rows: [method], columns: [{measurement: perplexity, decimals: 3, where: {seed: [1, 2]}}]}
)",
      R"(name: a
base:
  model: &m
    bert: {preset: tiny}
  data: {text: {corpus: kjv}}
  training: {steps: 20}
axes:
  - field: seed
    values: [1]
    when: {seed: 1}
)",
      R"(name: drawn
base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 20}}
sampling: {sobol: {trials: 4}}
axes:
  - {field: training.optimizer.adamw.learning_rate, normal: {mean: -7, std: 1, log: true, max: 1}}
  - {field: model.bert.hidden_size, range: {min: 32, max: 128, step: 32}}
  - {field: seed, values: [1, 2], weights: [3, 1]}
tied: {model.bert.ffn_size: 4 * model.bert.hidden_size, training.batch_size: 'min(8, 2 ^ seed)'}
)",
      "state_dir: /tmp/x\nlisten: 127.0.0.1:0\nlease_ttl_ms: 1500\n",
      "state_dir: \"/tmp/x\"\ncoordinator: localhost:1\nslots: 2\n--- # another\n- [a, {b: c}]\n",
  };
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
