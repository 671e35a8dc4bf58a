#include "spec/program/find_program.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/program/program_description.h"
#include "spec/schema/path_text.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<FoundProgram> ProgramIn(const fs::path& folder) {
  ASSIGN_OR_RETURN(v1::ProgramUse use, UseOfProgram(folder));
  return FoundProgram{folder, std::move(use)};
}

absl::StatusOr<FoundProgram> FindProgram(const fs::path& sweep_folder, const std::string& name) {
  const fs::path own = sweep_folder / name;
  if (fs::exists(own / kProgramFileName)) return ProgramIn(own);
  if (!fs::exists(sweep_folder / kProgramFileName)) {
    return absl::NotFoundError(absl::StrCat("there is neither ", (own / kProgramFileName).string(), " nor ",
                                            (sweep_folder / kProgramFileName).string(),
                                            "; write one of them, or give the path of the program's folder"));
  }
  ASSIGN_OR_RETURN(FoundProgram found, ProgramIn(sweep_folder));
  if (found.use.name() == name) return found;
  return absl::NotFoundError(absl::StrCat((sweep_folder / kProgramFileName).string(), " describes ",
                                          found.use.name(), ", not ", name, "; give one name to both"));
}

}  // namespace

absl::StatusOr<v1::ProgramUse> UseOfProgram(const fs::path& folder) {
  v1::ProgramUse use;
  ASSIGN_OR_RETURN(*use.mutable_description(), ReadProgram(folder));
  ASSIGN_OR_RETURN(*use.mutable_digest(), ProgramDigest(folder, use.description()));
  use.set_name(use.description().name());
  return use;
}

absl::StatusOr<FoundProgram> TakeProgram(const std::string& file, YamlDocument* document) {
  const FoundProgram none;
  if (document->root == nullptr || document->root->kind != YamlNode::kMap) return none;
  YamlNode root = *document->root;
  const auto entry = std::ranges::find_if(root.entries, [](const auto& at) { return at.key == "program"; });
  if (entry == root.entries.end()) return none;
  const YamlNode value = *entry->value;
  const auto error = [&](absl::StatusCode code, const std::string& problem) {
    return absl::Status(code, absl::StrCat(file, ":", value.position.line, ":", value.position.column,
                                           ": program: ", problem));
  };
  if (value.kind != YamlNode::kScalar || value.text.empty())
    return error(absl::StatusCode::kInvalidArgument,
                 "is the name or the folder of one program; write it as a text");
  root.entries.erase(entry);
  document->root = std::make_shared<const YamlNode>(std::move(root));
  const absl::StatusOr<std::string> name = ExpandPath(value.text, &std::getenv);
  if (!name.ok()) return error(name.status().code(), std::string(name.status().message()));
  absl::StatusOr<FoundProgram> found = FindProgram(fs::absolute(file).parent_path(), *name);
  if (!found.ok()) return error(found.status().code(), std::string(found.status().message()));
  return found;
}

}  // namespace inlier
