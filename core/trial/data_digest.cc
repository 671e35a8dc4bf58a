#include "core/trial/data_digest.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/data/record_form.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/status.h"
#include "core/data/file_digest.h"
#include "core/images/idx_file.h"
#include "core/images/image_folder.h"
#include "core/images/image_source.h"
#include "core/text/tokenizer_source.h"
#include "core/trial/saved_model.h"
#include "spec/data/classification_source.h"
#include "spec/data/instruction_source.h"
#include "spec/data/question_file.h"
#include "spec/trial/data_source.h"
#include "spec/trial/file_fields.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// Files, and what each is called in the digest.
struct NamedFiles {
  fs::path place;
  std::vector<fs::path> files{};
  std::vector<std::string> names{};

  void Add(const fs::path& file, const std::string& name) {
    files.push_back(file);
    names.push_back(name);
  }
};

absl::StatusOr<std::string> DigestOf(const NamedFiles& named, const TextOpenOptions& folders) {
  Sha256 sha;
  for (std::size_t i = 0; i < named.files.size(); ++i) {
    std::error_code error;
    sha.Update(
        absl::StrCat(fs::weakly_canonical(named.files[i], error).string(), "\n", named.names[i], "\n"));
  }
  const fs::path memory = folders.cache_dir / absl::StrCat("data-", sha.HexDigest().substr(0, 16), ".digest");
  const auto combine = [&named](const std::vector<std::string>& digests) {
    Sha256 all;
    for (std::size_t i = 0; i < digests.size(); ++i)
      all.Update(absl::StrCat(digests[i], " ", named.names[i], "\n"));
    return all.HexDigest();
  };
  return CachedDigestOfFiles(named.files, named.place, folders.roots, memory, combine,
                             folders.digest_progress);
}

void AddImagesOf(const ImageFolder& part, const char* name, NamedFiles& files) {
  for (std::int64_t i = 0; i < part.size(); ++i)
    files.Add(part.folder() / part.PathOf(i), absl::StrCat(name, "/", part.PathOf(i)));
}

absl::StatusOr<std::string> ImageDigest(const v1::ImageDataSpec& spec, const TextOpenOptions& folders) {
  NamedFiles files;
  ASSIGN_OR_RETURN(files.place, FindImages(spec, folders.data_dir));
  for (const char* part : {"train", "t10k"}) {
    for (const fs::path& file : IdxFiles(files.place, part)) files.Add(file, file.filename().string());
  }
  if (files.files.empty()) {
    ASSIGN_OR_RETURN(const ImageFolders parts, ListImageFolders(files.place, {.roots = folders.roots}));
    AddImagesOf(parts.train, "train", files);
    AddImagesOf(parts.validation, "validation", files);
  }
  return DigestOf(files, folders);
}

absl::StatusOr<std::string> TextDigest(const v1::TextDataSpec& spec, const TextOpenOptions& folders) {
  CorpusSource source;
  source.roots = folders.roots;
  if (spec.has_path()) {
    source.path = spec.path();
  } else {
    ASSIGN_OR_RETURN(source.path, FindCorpus(spec.corpus(), folders.data_dir));
  }
  return CachedDigest(source, folders.cache_dir, folders.digest_progress);
}

// How records are read, for their names in a digest: "" as always, " csv", " json".
const char* FormName(const fs::path& path) {
  const std::optional<RecordForm> form = RecordFormOf(path.native());
  if (!form || *form == RecordForm::kTabs) return "";
  return *form == RecordForm::kCommas ? " csv" : " json";
}

absl::StatusOr<std::string> FileDigest(const fs::path& file, const char* field, const char* remedy,
                                       const TextOpenOptions& folders, const std::string& name = "") {
  std::error_code error;
  if (!fs::exists(file, error)) {
    return absl::NotFoundError(
        absl::StrCat(field, ": no file ", file.string(), " on this machine; ", remedy));
  }
  NamedFiles files{.place = file};
  files.Add(file, name);
  return DigestOf(files, folders);
}

// Empty where the vocabulary is trained on the data itself.
absl::StatusOr<std::string> TokenizerDigest(const v1::TokenizerSpec& tokenizer, const std::string& field,
                                            const TextOpenOptions& folders) {
  NamedFiles files;
  // All of a folder, where more than the vocabulary decides.
  const auto add_all = [&files](const TokenizerSource& source) {
    for (const fs::path& file : FilesOf(source, {})) files.Add(file, file.filename().string());
  };
  if (tokenizer.has_wordpiece()) {
    ASSIGN_OR_RETURN(const WordPieceFile found, FindWordPiece(tokenizer.wordpiece().vocab(), folders.data_dir,
                                                              field + ".wordpiece.vocab", folders.roots));
    if (found.folder.empty()) {
      files.Add(found.vocab_txt, "vocab.txt");
    } else {
      add_all(found);
    }
  } else if (tokenizer.has_gpt2()) {
    ASSIGN_OR_RETURN(const Gpt2Files found, FindGpt2(tokenizer.gpt2().vocab(), folders.data_dir,
                                                     field + ".gpt2.vocab", folders.roots));
    if (found.folder.empty()) {
      files.Add(found.vocab_json, "vocab.json");
      files.Add(found.merges_txt, "merges.txt");
    } else {
      add_all(found);
    }
  } else if (tokenizer.byte_pair().has_path()) {
    return CachedDigest(
        {.path = tokenizer.byte_pair().path(), .roots = folders.roots, .setting = field + ".byte_pair"},
        folders.cache_dir, folders.digest_progress);
  } else if (tokenizer.byte_pair().has_corpus()) {
    ASSIGN_OR_RETURN(const fs::path corpus, FindCorpus(tokenizer.byte_pair().corpus(), folders.data_dir));
    files.Add(corpus, "corpus");
  }
  if (files.files.empty()) return std::string();
  files.place = files.files[0];
  return DigestOf(files, folders);
}

absl::StatusOr<std::string> ClassificationDigest(const v1::ClassificationDataSpec& spec,
                                                 const TextOpenOptions& folders) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> paths, ClassificationFiles(spec, folders.data_dir));
  NamedFiles files{.place = paths[0]};
  for (std::size_t i = 0; i < paths.size(); ++i)
    files.Add(paths[i], absl::StrCat(i == 0 ? "train" : "validation", FormName(paths[i])));
  return DigestOf(files, folders);
}

}  // namespace

DataRoots RootsOf(const v1::AttemptSpec& attempt) {
  if (attempt.data_roots().empty()) return {};
  std::vector<fs::path> folders(attempt.data_roots().begin(), attempt.data_roots().end());
  folders.emplace_back(kDebiansFashionMnist);
  if (attempt.spec().has_program()) folders.push_back(SavedModelFolder(attempt));
  return DataRoots::Below(folders);
}

TextOpenOptions FoldersOf(const v1::AttemptSpec& attempt) {
  TextOpenOptions options;
  options.data_dir = attempt.data_dir();
  options.cache_dir = attempt.cache_dir();
  options.roots = RootsOf(attempt);
  return options;
}

absl::StatusOr<std::string> StartDigest(const v1::TrialSpec& spec, const TextOpenOptions& folders) {
  const v1::StartFromSpec& start = spec.training().start_from();
  if (!start.has_hugging_face() && !start.has_checkpoint()) return std::string();
  const fs::path place = start.has_hugging_face() ? start.hugging_face() : start.checkpoint();
  std::error_code error;
  if (!fs::is_directory(place, error)) {
    return FileDigest(place, "training.start_from",
                      "name a folder with config.json and model.safetensors, or a .safetensors file",
                      folders);
  }
  NamedFiles files{.place = place};
  for (const fs::path& entry : EntriesOf(place)) {
    const std::string name = entry.filename().string();
    if (name == "config.json" || name == "model.safetensors.index.json" || name.ends_with(".safetensors"))
      files.Add(entry, name);
  }
  if (files.files.empty()) {
    return absl::NotFoundError(
        absl::StrCat("training.start_from: no config.json and no .safetensors file in ", place.string(),
                     " on this machine"));
  }
  return DigestOf(files, folders);
}

absl::StatusOr<std::string> ScriptDigests(const v1::TrialSpec& spec, const TextOpenOptions& folders) {
  std::string digests;
  const v1::AttentionSpec& attention = spec.attention();
  for (const auto& [field, file] :
       {std::pair("attention.softmax.script.file", attention.softmax().script().file()),
        std::pair("attention.gate.script.file", attention.gate().script().file())}) {
    if (file.empty()) continue;
    ASSIGN_OR_RETURN(const std::string digest,
                     FileDigest(file, field, "save it there: torch.jit.script(f).save(path)", folders));
    absl::StrAppend(&digests, digests.empty() ? "" : ", ", field, " ", digest);
  }
  return digests;
}

absl::Status CheckSameScripts(const v1::TrialSpec& spec, const Checkpoint& checkpoint,
                              const TextOpenOptions& folders) {
  ASSIGN_OR_RETURN(const std::string here, ScriptDigests(spec, folders));
  if (here == checkpoint.info().origin.scripts) return absl::OkStatus();
  const std::string &softmax = spec.attention().softmax().script().file(),
                    &gate = spec.attention().gate().script().file();
  return absl::FailedPreconditionError(absl::StrCat(
      softmax, softmax.empty() || gate.empty() ? "" : " or ", gate,
      ": is not the script that the model was trained with: ", here, " here, ",
      checkpoint.info().origin.scripts, " in the checkpoint; put that file back, or train again"));
}

absl::StatusOr<std::string> DataDigest(const v1::TrialSpec& spec, const std::string& start_digest,
                                       const TextOpenOptions& folders) {
  const v1::TrialSpec source = DataSourceOf(spec);
  std::string data, tokenizer;
  switch (source.data().kind_case()) {
    case v1::DataSpec::kText: {
      const v1::TextDataSpec& text = source.data().text();
      ASSIGN_OR_RETURN(data, TextDigest(text, folders));
      ASSIGN_OR_RETURN(tokenizer, TokenizerDigest(text.tokenizer(), "data.text.tokenizer", folders));
      break;
    }
    case v1::DataSpec::kImages: {
      ASSIGN_OR_RETURN(data, ImageDigest(source.data().images(), folders));
      break;
    }
    case v1::DataSpec::kClassification: {
      const v1::ClassificationDataSpec& rows = source.data().classification();
      ASSIGN_OR_RETURN(data, ClassificationDigest(rows, folders));
      ASSIGN_OR_RETURN(tokenizer,
                       TokenizerDigest(rows.tokenizer(), "data.classification.tokenizer", folders));
      break;
    }
    case v1::DataSpec::kInstructions: {
      const v1::InstructionDataSpec& pairs = source.data().instructions();
      const std::optional<RecordForm> form = RecordFormOf(pairs.path());
      const bool separated = form && !IsJson(*form);
      ASSIGN_OR_RETURN(data, FileDigest(pairs.path(), "data.instructions.path", kInstructionFiles, folders,
                                        separated ? fs::path(pairs.path()).extension().string() : ""));
      ASSIGN_OR_RETURN(tokenizer, TokenizerDigest(pairs.tokenizer(), "data.instructions.tokenizer", folders));
      break;
    }
    case v1::DataSpec::kBackcopy:
    case v1::DataSpec::KIND_NOT_SET:  // No file is named: DataSourceOf leaves nothing.
      break;
  }
  ASSIGN_OR_RETURN(const std::string scripts, ScriptDigests(source, folders));
  const std::string& program = source.program().source();
  std::string questions;
  if (source.evaluation().has_multiple_choice()) {
    ASSIGN_OR_RETURN(questions, FileDigest(source.evaluation().multiple_choice().path(),
                                           "evaluation.multiple_choice.path", kQuestionFiles, folders));
  }
  return Sha256Hex(absl::StrCat("inlier data 1\ndata ", data, "\ntokenizer ", tokenizer, "\nstart_from ",
                                start_digest, "\n",
                                scripts.empty() ? "" : absl::StrCat("scripts ", scripts, "\n"),
                                program.empty() ? "" : absl::StrCat("program ", program, "\n"),
                                questions.empty() ? "" : absl::StrCat("questions ", questions, "\n")));
}

absl::StatusOr<std::string> DigestOf(const v1::AttemptSpec& request, const DigestProgress& progress) {
  TextOpenOptions folders = FoldersOf(request);
  folders.digest_progress = progress;
  RETURN_IF_ERROR(CheckFilePaths(request.spec(),
                                 [&folders](const std::string& path) { return folders.roots.Check(path); }));
  std::error_code error;
  fs::create_directories(folders.cache_dir, error);  // Where it fails, remembering a digest reports it.
  ASSIGN_OR_RETURN(const std::string start, StartDigest(request.spec(), folders));
  return DataDigest(request.spec(), start, folders);
}

}  // namespace inlier
