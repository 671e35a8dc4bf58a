#include "core/text/tokenizer_source.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/mapped_file.h"
#include "base/status.h"
#include "core/text/tokenizer_folder.h"
#include "core/text/vocabulary_file.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kVocabularies[] = "vocabularies";
constexpr char kVocabTxt[] = "vocab.txt";
constexpr char kVocabJson[] = "vocab.json";
constexpr char kMergesTxt[] = "merges.txt";

Gpt2Files FilesIn(const fs::path& folder, const DataRoots& roots = {}) {
  return {folder / kVocabJson, folder / kMergesTxt, roots, {}};
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& entry : EntriesOf(folder)) {
    if (IsFolder(entry)) names.push_back(entry.filename().string());
  }
  return names.empty() ? "none in it" : "there are: " + absl::StrJoin(names, ", ");
}

fs::path PlaceOf(const std::string& vocab, const fs::path& data_dir) {
  return fs::path(vocab).is_absolute() ? fs::path(vocab) : data_dir / kVocabularies / vocab;
}

absl::Status NoVocabulary(const std::string& field, const std::string& vocab, const fs::path& data_dir,
                          const char* files) {
  if (fs::path(vocab).is_absolute()) {
    return absl::NotFoundError(absl::StrCat(field, ": no ", files, " at ", vocab,
                                            " on this machine; give the absolute path of a folder that holds "
                                            "it, or the name of a vocabulary of the data folder"));
  }
  const fs::path folder = data_dir / kVocabularies;
  return absl::NotFoundError(absl::StrCat(field, ": no vocabulary \"", vocab, "\" with ", files, " in ",
                                          folder.string(), " (", NamesIn(folder),
                                          "); get it with `make corpora`, or give an absolute path"));
}

// Only published vocabularies have a limit; the others are in the cache.
DataRoots RootsOf(const TokenizerSource& source) {
  if (const auto* file = std::get_if<WordPieceFile>(&source)) return file->roots;
  if (const auto* files = std::get_if<Gpt2Files>(&source)) return files->roots;
  return {};
}

absl::Status CheckPlace(const std::string& field, const fs::path& place, const DataRoots& roots) {
  const absl::Status status = roots.Check(place);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(field, ": ", std::string(status.message())));
}

// The folder that `place`, a folder or its vocabulary `name`, stands for, where it has the settings of a tokenizer.
fs::path FolderOf(const fs::path& place, const char* name) {
  const fs::path folder = IsFolder(place) ? place : place.filename() == name ? place.parent_path() : "";
  return !folder.empty() && HasTokenizerSettings(folder) && !TokenizerFilesIn(folder).empty() ? folder : "";
}

fs::path FolderOf(const TokenizerSource& source) {
  if (const auto* file = std::get_if<WordPieceFile>(&source)) return file->folder;
  if (const auto* files = std::get_if<Gpt2Files>(&source)) return files->folder;
  return {};
}

absl::StatusOr<TokenizerDefinition> DefinitionIn(const fs::path& folder, const TokenizerSource& source) {
  ASSIGN_OR_RETURN(TokenizerDefinition definition, ReadTokenizerFolder(folder, RootsOf(source)));
  const bool word_piece = std::holds_alternative<WordPieceSettings>(definition.model);
  if (word_piece == std::holds_alternative<WordPieceFile>(source)) return definition;
  return absl::InvalidArgumentError(absl::StrCat(definition.place, ": is a ",
                                                 word_piece ? "WordPiece" : "BPE", "; choose the tokenizer ",
                                                 word_piece ? "wordpiece" : "gpt2"));
}

}  // namespace

std::vector<fs::path> FilesOf(const TokenizerSource& source, const fs::path& cache_folder) {
  if (const fs::path folder = FolderOf(source); !folder.empty()) return TokenizerFilesIn(folder);
  if (const auto* file = std::get_if<WordPieceFile>(&source)) return {file->vocab_txt};
  if (const auto* files = std::get_if<Gpt2Files>(&source)) return {files->vocab_json, files->merges_txt};
  const auto* own = std::get_if<OwnBytePairFiles>(&source);
  const Gpt2Files trained = FilesIn(own == nullptr ? cache_folder : own->folder);
  return {trained.vocab_json, trained.merges_txt};
}

absl::StatusOr<WordPieceFile> FindWordPiece(const std::string& vocab, const fs::path& data_dir,
                                            const std::string& field, const DataRoots& roots) {
  const fs::path place = PlaceOf(vocab, data_dir);
  RETURN_IF_ERROR(CheckPlace(field, place, roots));
  const fs::path file = IsFolder(place) ? place / kVocabTxt : place, folder = FolderOf(place, kVocabTxt);
  if (IsFile(file) || !folder.empty()) return WordPieceFile{file, roots, folder};
  return NoVocabulary(field, vocab, data_dir, kVocabTxt);
}

absl::StatusOr<Gpt2Files> FindGpt2(const std::string& vocab, const fs::path& data_dir,
                                   const std::string& field, const DataRoots& roots) {
  const fs::path place = PlaceOf(vocab, data_dir);
  RETURN_IF_ERROR(CheckPlace(field, place, roots));
  Gpt2Files files = FilesIn(place, roots);
  const fs::path folder = FolderOf(place, kVocabJson);
  if (const std::string name = place.filename().string(); IsFile(place) && name.ends_with(kVocabJson)) {
    const std::string prefix = name.substr(0, name.size() - (sizeof(kVocabJson) - 1));
    files = {place, place.parent_path() / (prefix + kMergesTxt), roots, {}};
  }
  files.folder = folder;
  if (!folder.empty()) return files;
  if (IsFile(files.vocab_json) && IsFile(files.merges_txt)) return files;
  return NoVocabulary(field, vocab, data_dir, "vocab.json and merges.txt");
}

absl::StatusOr<std::string> VocabularyDigest(const TokenizerSource& source, const fs::path& cache_folder) {
  Sha256 sha;
  for (const fs::path& path : FilesOf(source, cache_folder)) {
    ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(path, RootsOf(source)));
    // A bare vocabulary has the same files each time.
    if (!FolderOf(source).empty())
      sha.Update(absl::StrCat(path.filename().string(), " ", file.bytes().size(), "\n"));
    sha.Update(file.bytes());
  }
  return sha.HexDigest();
}

absl::StatusOr<std::string> KeyOf(const TokenizerSource& source) {
  if (const auto* trained = std::get_if<TrainedBytePair>(&source)) {
    return absl::StrCat("byte_pair ", trained->vocab_size);
  }
  ASSIGN_OR_RETURN(const std::string digest, VocabularyDigest(source, {}));
  if (std::holds_alternative<OwnBytePairFiles>(source)) return "byte_pair of " + digest;
  if (std::holds_alternative<WordPieceFile>(source)) return "wordpiece " + digest;
  const auto& files = std::get<Gpt2Files>(source);
  if (!files.folder.empty()) return "gpt2 " + digest;
  ASSIGN_OR_RETURN(const MappedFile vocabulary, OpenVocabularyFile(files.vocab_json, files.roots));
  // Caches of older versions took every token of OPT's that no merge makes for a special one.
  const bool opt = vocabulary.bytes().find("\"<pad>\"") != std::string_view::npos &&
                   vocabulary.bytes().find("\"[PAD]\"") == std::string_view::npos;
  return absl::StrCat(opt ? "opt " : "gpt2 ", digest);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const TokenizerSource& source,
                                                         const fs::path& cache_folder) {
  TokenizerDefinition definition;
  const std::vector<fs::path> files = FilesOf(source, cache_folder);
  if (const fs::path folder = FolderOf(source); !folder.empty()) {
    ASSIGN_OR_RETURN(definition, DefinitionIn(folder, source));
  } else if (std::holds_alternative<WordPieceFile>(source)) {
    ASSIGN_OR_RETURN(const WordPieceVocabulary vocabulary,
                     WordPieceVocabulary::Load(files[0], RootsOf(source)));
    definition = WordPieceDefinition(vocabulary);
    definition.place = files[0].string();
  } else {
    ASSIGN_OR_RETURN(const BytePairVocabulary vocabulary,
                     BytePairVocabulary::Load(files[0], files[1], RootsOf(source)));
    // The files of a vocabulary trained here may be anywhere, as in an exported model.
    if (!std::holds_alternative<Gpt2Files>(source) || IsOwnVocabulary(vocabulary)) {
      definition = OwnDefinition(vocabulary);
    } else {
      absl::StatusOr<TokenizerDefinition> gpt2 = Gpt2Definition(vocabulary);
      if (!gpt2.ok())
        return absl::InvalidArgumentError(
            absl::StrCat(files[0].string(), ": ", std::string(gpt2.status().message())));
      definition = *std::move(gpt2);
    }
    definition.place = files[0].string();
  }
  return MakeTokenizer(std::move(definition));
}

}  // namespace inlier
