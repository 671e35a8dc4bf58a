// A YAML document as a tree in which every node knows its place and whether it was quoted.
//
// Built from yaml-cpp's events rather than its nodes, which lose quotes, keep doubled keys silently and lack bounds. Merge keys
// (`<<: *base`, `<<: [*a, *b]`) are followed here: what a mapping has of its own stays, then the first that has a key gives it.
#ifndef INLIER_SPEC_SCHEMA_YAML_DOCUMENT_H_
#define INLIER_SPEC_SCHEMA_YAML_DOCUMENT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spec/schema/limits.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {

struct YamlNode {
  enum Kind { kScalar, kNull, kList, kMap };
  struct Entry {
    std::string key;
    SourceMap::Position position;  // Of the key.
    std::shared_ptr<const YamlNode> value;
  };

  Kind kind = kNull;
  SourceMap::Position position;
  std::string text;     // Scalars; "null" where that is written, for a value that is missing is none.
  bool quoted = false;  // Scalars: with quotes or in a block, so never a number or a word of YAML's own.
  std::vector<std::shared_ptr<const YamlNode>> items;  // Lists.
  std::vector<Entry> entries;                          // Mappings, in order, doubled keys kept.
  std::size_t size = 1;  // Nodes of the tree, aliases counted at each use; a long text counts as several.
};

inline constexpr std::size_t kYamlBytesMax = Limits::kSweepBytesMax;
inline constexpr int kYamlDepthMax = 100;
inline constexpr std::size_t kYamlNodesMax = 1'000'000;
inline constexpr std::size_t kYamlBytesPerNode = 64;
inline constexpr std::size_t kYamlKeyMax = 200;

struct YamlDocument {
  std::shared_ptr<const YamlNode> root;  // nullptr when there is an error.
  std::string error;                     // The problem and its remedy.
  SourceMap::Position error_position;
};

// What is done with tags such as `!!float`.
enum class YamlTags {
  kRefused,
  kStandard,  // Those of YAML's own types are taken, as other tools write them: !!str makes a text.
};

// Parses exactly one document. Never throws.
YamlDocument ParseYaml(std::string_view text, YamlTags tags = YamlTags::kRefused);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_YAML_DOCUMENT_H_
