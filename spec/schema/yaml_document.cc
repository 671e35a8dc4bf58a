#include "spec/schema/yaml_document.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/utf8.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace inlier {
namespace {

using Position = SourceMap::Position;

// Columns of longer lines are reported in bytes, so that finding columns never costs more than reading.
constexpr std::size_t kColumnSearchMax = 500;
constexpr char kStandardTag[] = "tag:yaml.org,2002:";  // "!!" in a document.

struct YamlProblem {
  Position position;
  std::string text;
};

// yaml-cpp's byte offsets within a line -> columns as an editor counts them.
class Columns {
 public:
  explicit Columns(std::string_view text) : text_(text) {
    ascii_ = std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  Position At(const YAML::Mark& mark) const {
    if (mark.is_null()) return {};
    return At(static_cast<std::size_t>(std::max(mark.line, 0)),
              static_cast<std::size_t>(std::max(mark.column, 0)));
  }

  Position AtByte(std::size_t byte) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), byte);
    const auto line = static_cast<std::size_t>(next - starts_.begin()) - 1;
    return At(line, byte - starts_[line]);
  }

  // True where the word null is written, rather than nothing.
  bool HasNullAt(const YAML::Mark& mark) const {
    if (mark.is_null()) return false;
    const std::string_view line = Line(mark.line + 1);
    const std::string_view rest = line.substr(std::min(line.size(), static_cast<std::size_t>(mark.column)));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r,]}"));
    return word == "~" || word == "null" || word == "Null" || word == "NULL";
  }

  std::string_view Line(int line) const {
    if (line < 1 || static_cast<std::size_t>(line) > starts_.size()) return "";
    const std::string_view rest = text_.substr(starts_[static_cast<std::size_t>(line) - 1]);
    return rest.substr(0, rest.find('\n'));
  }

 private:
  Position At(std::size_t line, std::size_t byte) const {
    std::size_t column = byte;
    if (!ascii_ && byte <= kColumnSearchMax && line < starts_.size()) {
      const std::string_view before = text_.substr(starts_[line], byte);
      column = static_cast<std::size_t>(std::ranges::count_if(
          before, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
    }
    return {static_cast<int>(line) + 1, static_cast<int>(column) + 1};
  }

  std::string_view text_;
  bool ascii_ = true;
  std::vector<std::size_t> starts_;
};

// Throws YamlProblem.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Columns& columns, YamlTags tags) : columns_(columns), tags_(tags) {}

  std::shared_ptr<const YamlNode> root() const { return root_; }

  // Throws its mark where there is another document.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_ != nullptr) throw mark;
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark&, const std::string&) override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::shared_ptr<YamlNode> node = NewNode(mark, YamlNode::kNull);
    if (columns_.HasNullAt(mark)) node->text = "null";
    Finish(anchor, node);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end())
      throw YamlProblem{columns_.At(mark),
                        "the alias is inside the value that it names; write the value out"};
    Add(it->second, columns_.At(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::shared_ptr<YamlNode> node = NewNode(mark, YamlNode::kScalar);
    node->text = value;
    node->quoted = tag == "!" || tag == kStandardTag + std::string("str");
    node->size += value.size() / kYamlBytesPerNode;
    RefuseTag(mark, tag);
    Finish(anchor, node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor;
    bool has_key = false;
    bool merges = false;  // The key is <<.
    std::string key;
    Position key_position;
    std::vector<std::shared_ptr<const YamlNode>> merged;  // Mappings, by << of this one.
  };

  std::shared_ptr<YamlNode> NewNode(const YAML::Mark& mark, YamlNode::Kind kind) {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->position = columns_.At(mark);
    return node;
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    for (const char* type : {"float", "int", "str", "bool", "null", "map", "seq"}) {
      if (tags_ == YamlTags::kStandard && tag == kStandardTag + std::string(type)) return;
    }
    throw YamlProblem{columns_.At(mark), "the tag " + tag + " has no meaning here; remove it"};
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    const Position position = columns_.At(mark);
    RefuseTag(mark, tag);
    if (static_cast<int>(levels_.size()) >= kYamlDepthMax) {
      throw YamlProblem{position, "nested deeper than " + std::to_string(kYamlDepthMax) +
                                      " levels; specs are shallow, look for a bracket that is not closed"};
    }
    if (ExpectsKey())
      throw YamlProblem{position, "a list or mapping cannot be a key; write a word, or close the bracket"};
    levels_.push_back({.node = NewNode(mark, kind), .anchor = anchor});
  }

  void Close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    AddMerged(level);
    Finish(level.anchor, level.node);
  }

  static void AddMerged(const Level& level) {
    if (level.merged.empty()) return;
    std::set<std::string> keys;
    for (const YamlNode::Entry& entry : level.node->entries) keys.insert(entry.key);
    for (const auto& map : level.merged) {
      for (const YamlNode::Entry& entry : map->entries) {
        if (keys.insert(entry.key).second) level.node->entries.push_back(entry);
      }
    }
  }

  // Keeps what << names, a mapping or a list of mappings.
  static void Merge(const std::shared_ptr<const YamlNode>& node, Level& level) {
    const Position position = level.key_position;
    if (!level.merged.empty())
      throw YamlProblem{position, "<< is given twice in one mapping; write a list: <<: [*a, *b]"};
    if (node->kind == YamlNode::kMap) {
      level.merged = {node};
    } else if (node->kind == YamlNode::kList) {
      level.merged = node->items;
    }
    const bool all_maps =
        std::ranges::all_of(level.merged, [](const auto& item) { return item->kind == YamlNode::kMap; });
    if (level.merged.empty() || !all_maps)
      throw YamlProblem{position, "<< merges mappings; give an alias of one, <<: *base, or a list of them"};
  }

  bool ExpectsKey() const {
    return !levels_.empty() && levels_.back().node->kind == YamlNode::kMap && !levels_.back().has_key;
  }

  void Finish(YAML::anchor_t anchor, const std::shared_ptr<const YamlNode>& node) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    Add(node, node->position);
  }

  void Add(const std::shared_ptr<const YamlNode>& node, Position position) {
    if (levels_.empty()) {
      root_ = node;
      return;
    }
    Level& level = levels_.back();
    if (ExpectsKey()) {
      if (node->kind == YamlNode::kNull)
        throw YamlProblem{position, "a key is missing before the colon; write a field's name"};
      if (node->kind != YamlNode::kScalar)
        throw YamlProblem{position, "a list or mapping cannot be a key; write a word, or close the bracket"};
      if (node->text.size() > kYamlKeyMax) {
        throw YamlProblem{position, "a key has more than " + std::to_string(kYamlKeyMax) +
                                        " characters; is a quote or a colon missing?"};
      }
      level.has_key = true;
      level.merges = node->text == "<<" && !node->quoted;
      level.key = node->text;
      level.key_position = position;
      return;
    }
    level.node->size += node->size;
    if (level.node->size > kYamlNodesMax) {
      throw YamlProblem{position, "more than " + std::to_string(kYamlNodesMax) +
                                      " values (aliases counted at each use); make the document smaller"};
    }
    if (level.node->kind == YamlNode::kList) {
      level.node->items.push_back(node);
      return;
    }
    if (level.merges) {
      Merge(node, level);
    } else {
      level.node->entries.push_back({std::move(level.key), level.key_position, node});
    }
    level.has_key = false;
    level.key.clear();
  }

  const Columns& columns_;
  const YamlTags tags_;
  std::shared_ptr<const YamlNode> root_;
  std::vector<Level> levels_;
  std::map<YAML::anchor_t, std::shared_ptr<const YamlNode>> anchors_;
};

YamlDocument Failed(Position position, std::string error) { return {nullptr, std::move(error), position}; }

// Refuses bytes that YAML forbids or that yaml-cpp misreads (it ends silently at a 0x04).
YamlDocument CheckBytes(std::string_view text, const Columns& columns) {
  if (text.size() > kYamlBytesMax) {
    return Failed(
        {}, "the document has more than " + std::to_string(kYamlBytesMax >> 20) + " MiB; make it smaller");
  }
  const std::size_t valid = ValidUtf8Prefix(text);
  if (valid != text.size())
    return Failed(columns.AtByte(valid), "the text is not UTF-8; save the file as UTF-8");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\t' && c != '\r')) {
      return Failed(columns.AtByte(i),
                    "a control character (byte " + std::to_string(c) + ") is not allowed in YAML; remove it");
    }
  }
  return {};
}

YamlDocument SyntaxError(const YAML::ParserException& error, const Columns& columns) {
  const Position position = columns.At(error.mark);
  const std::string_view line = columns.Line(position.line);
  const std::size_t tab = line.substr(0, line.find_first_not_of(" \t")).find('\t');
  if (tab != std::string_view::npos) {
    return Failed({position.line, static_cast<int>(tab) + 1}, "a tab cannot indent YAML; use spaces");
  }
  return Failed(position, "this is not YAML: " + error.msg +
                              "; look at the indentation, quotes, brackets and colons near here");
}

}  // namespace

YamlDocument ParseYaml(std::string_view text, YamlTags tags) {
  const Columns columns(text);
  YamlDocument bytes = CheckBytes(text, columns);
  if (!bytes.error.empty()) return bytes;
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder(columns, tags);
    parser.HandleNextDocument(builder);
    parser.HandleNextDocument(builder);
    if (builder.root() == nullptr || builder.root()->kind == YamlNode::kNull) {
      return Failed({}, "the document is empty; write at least one `field: value`");
    }
    return {builder.root(), "", {}};
  } catch (const YamlProblem& problem) {
    return Failed(problem.position, problem.text);
  } catch (const YAML::Mark& mark) {
    return Failed(
        columns.At(mark),
        "a second document begins here; one file holds one document, remove the line `---` and what follows");
  } catch (const YAML::ParserException& error) {
    return SyntaxError(error, columns);
  } catch (const std::exception& error) {
    return Failed({}, std::string("this cannot be read as YAML: ") + error.what());
  }
}

}  // namespace inlier
