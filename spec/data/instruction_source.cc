#include "spec/data/instruction_source.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {

absl::StatusOr<Records> ReadInstructions(const v1::InstructionDataSpec& spec, const RecordAccess& access) {
  std::error_code error;
  if (!std::filesystem::exists(spec.path(), error)) {
    return absl::NotFoundError(absl::StrCat("data.instructions.path: no file ", spec.path(),
                                            " on this machine; ", kInstructionFiles));
  }
  ASSIGN_OR_RETURN(
      Records pairs,
      Records::Read(spec.path(), RecordFormOf(spec.path()).value_or(RecordForm::kJsonLines),
                    {{"data.instructions.prompt_field", spec.prompt_field()},
                     {"data.instructions.input_field", spec.input_field(), RecordColumn::kOptional},
                     {"data.instructions.answer_field", spec.answer_field()}},
                    access));
  if (pairs.size() >= 2) return pairs;
  return absl::InvalidArgumentError(
      absl::StrCat(spec.path(), " has ", pairs.size(), " pairs; one record each is needed, two at least"));
}

}  // namespace inlier
