#include "cli/convert/conversion.h"

#include <filesystem>
#include <utility>

#include "base/status.h"
#include "cli/convert/foreign_readers.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

constexpr char kWandbTool[] = "a sweep of Weights & Biases", kHydraTool[] = "a configuration of Hydra";

std::string ToolOf(const YamlNode& root) {
  if (FindEntry(root, "axes") != nullptr || FindEntry(root, "base") != nullptr)
    return "";  // It is one of inlier.
  return IsWandbSweep(root) ? kWandbTool : IsHydraConfiguration(root) ? kHydraTool : "";
}

absl::StatusOr<Conversion> ConvertDocument(const YamlDocument& document, const std::string& file,
                                           const std::string& program) {
  if (document.root == nullptr) return ForeignError({document.error_position, ""}, document.error);
  const YamlNode& root = *document.root;
  const std::string tool = ToolOf(root);
  if (tool.empty())
    return ForeignError(
        {},
        "is neither a sweep of Weights & Biases (method, parameters) nor a configuration of Hydra with "
        "hydra.sweeper.params; a sweep of inlier needs no conversion: inlier check " +
            file);
  RETURN_IF_ERROR(CheckKeys(root, ""));
  ASSIGN_OR_RETURN(ForeignSweep foreign, tool == kWandbTool ? ReadWandbSweep(root) : ReadHydraSweep(root));
  ASSIGN_OR_RETURN(Conversion made,
                   MakeSweep(std::move(foreign), std::filesystem::path(file).stem().string(), program));
  made.tool = tool;
  return made;
}

}  // namespace

std::string ForeignTool(std::string_view text) {
  const YamlDocument document = ParseYaml(text, YamlTags::kStandard);
  return document.root == nullptr ? "" : ToolOf(*document.root);
}

absl::StatusOr<Conversion> ConvertSweep(std::string_view text, const std::string& file,
                                        const std::string& program) {
  absl::StatusOr<Conversion> made = ConvertDocument(ParseYaml(text, YamlTags::kStandard), file, program);
  if (!made.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", made.status().message()));
  return made;
}

std::string RemarkText(const std::string& file, const Remark& remark) {
  return absl::StrCat(file, ":", PlacedText(remark, remark.text));
}

}  // namespace inlier
