// The records of data.instructions: the prompt, its subject and the answer of each.
//
// Thread safety: pure functions of the file system.
#ifndef INLIER_SPEC_DATA_INSTRUCTION_SOURCE_H_
#define INLIER_SPEC_DATA_INSTRUCTION_SOURCE_H_

#include "absl/status/statusor.h"
#include "inlier/v1/data_spec.pb.h"
#include "spec/data/records.h"

namespace inlier {

// For messages: what data.instructions.path may name.
inline constexpr char kInstructionFiles[] =
    "name a .jsonl file, one object a line, or a .json, .csv or .tsv file";

// Columns 0 to 2: prompt, subject, answer. A file whose name tells no form has objects. NotFound: no such file.
// InvalidArgument as Records::Read, and fewer than two records.
absl::StatusOr<Records> ReadInstructions(const v1::InstructionDataSpec& spec, const RecordAccess& access);

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_INSTRUCTION_SOURCE_H_
