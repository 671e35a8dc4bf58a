// YAML -> message, led by the message's descriptor.
//
// The node and the descriptor are walked together, so that every mistake is reported with its place: unknown keys
// (with the nearest known one), doubled keys, wrong types, values out of the range of (param), both members of a
// oneof, keys without a value. Up to 20 mistakes are reported at once, one a line:
// `file:line:column: path: the problem; the remedy`.
//
// null (or ~) leaves a field or group unset, as a key that is not there; lists and mappings of names have no null. In the
// values of an axis, in a variant's `set` and in the base of a scale it stays null in the message, for there it says that
// nothing sets the field (SweepGrid), or takes what the base has (ApplyStruct). In conditions it is the label null.
//
// A key may be a path in dots ("attention.softmax.clipped.gamma: -0.03"). A variant's `set` and an axis' `values`
// are read as fields of TrialSpec, or of a program's message. Bounds: 8 MiB of text, depth 100, 1,000,000 nodes after aliases are expanded.
//
// Errors: InvalidArgument for the document; NotFound or Unavailable for a file that cannot be read. yaml-cpp's
// exceptions end here. Thread safety: pure functions.
#ifndef INLIER_SPEC_SCHEMA_YAML_READER_H_
#define INLIER_SPEC_SCHEMA_YAML_READER_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "spec/schema/path_text.h"
#include "spec/schema/problems.h"

namespace inlier {

// Places of the values of a document: path -> line and column, both from 1.
class SourceMap {
 public:
  struct Position {
    int line = 1;
    int column = 1;
  };

  void Record(const std::string& path, Position position) { positions_[path] = position; }
  // The place of `path`, or of the nearest group above it in the document ("a.b[2].c" -> "a.b[2]" -> ... -> line 1).
  Position Locate(const std::string& path) const;
  // How many words of `path` the document has: of "a.b[2].c" 3 when it has a.b[2] and nothing below it.
  int Depth(const std::string& path) const;
  // `file:line:column: path: text` for each problem, as an InvalidArgument; OK when there is none. `path_of` maps the
  // paths of another message to those of the document.
  absl::Status ToStatus(
      const std::string& file, const Problems& problems,
      const std::function<std::string(const std::string&)>& path_of = std::identity()) const;

 private:
  // The longest beginning of `path` that the document has.
  std::string KnownPart(std::string path) const;

  std::map<std::string, Position> positions_;
};

struct YamlDocument;

// Reads one document into `message`, which must be empty. `file` is the name in errors. Fills `positions` if given.
// `rewrite` may change the document before.
absl::Status ReadYamlText(std::string_view text, const std::string& file, google::protobuf::Message* message,
                          SourceMap* positions = nullptr,
                          const std::function<void(YamlDocument*)>& rewrite = nullptr);
// The same of a document that is parsed. `base`, where it is given: an empty message that the paths of a sweep name in place
// of TrialSpec, and that gets its base. `environment`, where it is given, is of who reads the file: fields that may be paths are
// expanded by it (path_text.h).
absl::Status ReadYamlDocument(const YamlDocument& document, const std::string& file,
                              google::protobuf::Message* message, SourceMap* positions,
                              google::protobuf::Message* base, const Environment& environment = nullptr);
absl::Status ReadYamlFile(const std::filesystem::path& file, google::protobuf::Message* message,
                          SourceMap* positions = nullptr);

// The content of a text file of at most 8 MiB.
absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& file);

// auto config = ReadYaml<v1::WorkerConfig>(text, "worker.yaml");
template <typename MessageType>
absl::StatusOr<MessageType> ReadYaml(std::string_view text, const std::string& file) {
  MessageType message;
  absl::Status status = ReadYamlText(text, file, &message);
  if (!status.ok()) return status;
  return message;
}

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_YAML_READER_H_
