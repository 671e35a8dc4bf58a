// The tokenizer of a Hugging Face folder, as transformers' AutoTokenizer makes it: tokenizer.json where there is one,
// else vocab.txt, or vocab.json and merges.txt; changed by tokenizer_config.json, special_tokens_map.json,
// added_tokens.json, and by the class that these or config.json name.
//
// A key or type that decides the ids of a text and is not known here is refused by file and key.
#ifndef INLIER_CORE_TEXT_TOKENIZER_FOLDER_H_
#define INLIER_CORE_TEXT_TOKENIZER_FOLDER_H_

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_definition.h"

namespace inlier {

// The files of a folder that decide ids, those that exist. Empty: it has no tokenizer.
std::vector<std::filesystem::path> TokenizerFilesIn(const std::filesystem::path& folder);

// True when more than a bare vocabulary decides: a vocab.txt, or vocab.json and merges.txt, alone are read as
// bert-base-uncased's and GPT-2's (or OPT's).
bool HasTokenizerSettings(const std::filesystem::path& folder);

// NotFound: the folder has no tokenizer; the message has the remedy.
absl::StatusOr<TokenizerDefinition> ReadTokenizerFolder(const std::filesystem::path& folder,
                                                        const DataRoots& roots = {});

// InvalidArgument where `tokenizer` gives texts other ids than that of the folder, or this cannot be read. OK where the
// folder has none.
absl::Status CheckSameTokenizer(const std::filesystem::path& folder, const Tokenizer& tokenizer,
                                const DataRoots& roots = {});

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_FOLDER_H_
