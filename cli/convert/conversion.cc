#include "cli/convert/conversion.h"

#include <filesystem>
#include <utility>

#include "base/status.h"
#include "cli/convert/hydra_reader.h"
#include "cli/convert/sweep_maker.h"
#include "cli/convert/wandb_reader.h"
#include "cli/convert/yaml_values.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

constexpr char kWandbTool[] = "a sweep of Weights & Biases", kHydraTool[] = "a configuration of Hydra";

std::string ToolOf(const YamlNode& root) {
  return IsWandbSweep(root) ? kWandbTool : IsHydraConfiguration(root) ? kHydraTool : "";
}

absl::StatusOr<Conversion> ConvertDocument(const YamlNode& root, const std::string& file,
                                           const std::string& program) {
  const std::string tool = ToolOf(root);
  if (tool.empty())
    return ForeignError(
        {}, "",
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
  const YamlDocument document = ParseYaml(text, YamlTags::kStandard);
  if (document.root == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(file, ":", document.error_position.line, ":",
                                                   document.error_position.column, ": ", document.error));
  absl::StatusOr<Conversion> made = ConvertDocument(*document.root, file, program);
  if (!made.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":", made.status().message()));
  return made;
}

std::string RemarkText(const std::string& file, const Remark& remark) {
  return absl::StrCat(file, ":", remark.position.line, ":", remark.position.column, ": ", remark.path,
                      remark.path.empty() ? "" : ": ", remark.text);
}

}  // namespace inlier
