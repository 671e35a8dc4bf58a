// The sizes that papers and examples name: one table.
#ifndef INLIER_PROTO_SPEC_PRESETS_H_
#define INLIER_PROTO_SPEC_PRESETS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inlier {

// A size. 0 in vocab_size or max_positions: the resolver takes them from the data; 0 in embedding_size: the
// hidden size.
struct Preset {
  std::string_view architecture;  // Member of ModelSpec: "bert", "opt".
  std::string_view name;
  std::uint32_t layers;
  std::uint32_t hidden_size;
  std::uint32_t heads;
  std::uint32_t ffn_size;
  std::uint32_t vocab_size;
  std::uint32_t max_positions;
  std::uint32_t embedding_size;
  std::string_view source;  // Paper or configuration.
};

const std::vector<Preset>& Presets();

// nullptr when there is none of that name.
const Preset* FindPreset(std::string_view architecture, std::string_view name);

// Names of an architecture's presets, small to large.
std::vector<std::string> PresetNames(std::string_view architecture);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_PRESETS_H_
