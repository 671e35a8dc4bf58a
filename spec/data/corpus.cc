#include "spec/data/corpus.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/data/data_folder.h"
#include "base/data/record_form.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/digest.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const CorpusSource& source) {
  std::error_code error;
  return fs::is_directory(source.path, error);
}

std::optional<RecordForm> FormOf(const CorpusSource& source) {
  return IsFolder(source) ? std::nullopt : RecordFormOf(source.path.native());
}

absl::StatusOr<std::vector<fs::path>> TextFilesBelow(const fs::path& folder, const std::string& setting) {
  const auto failed = [&setting](const fs::path& place, const std::error_code& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting, ".path: cannot read ", place.string(), ": ", error.message()));
  };
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    if (entries->path().extension() != ".txt") continue;
    std::error_code entry_error;
    const fs::file_status status = entries->status(entry_error);
    if (status.type() == fs::file_type::not_found) {
      return failed(entries->path(), std::make_error_code(std::errc::no_such_file_or_directory));
    }
    if (entry_error) return failed(entries->path(), entry_error);
    if (fs::is_regular_file(status)) files.push_back(entries->path());
  }
  if (error) return failed(folder, error);
  if (files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        setting, ".path: no .txt file in the folder ", folder.string(),
        " or below it; put text files there, one text a line, or name another folder, or a file of records "
        "(.jsonl, .json, .csv, .tsv) itself"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

absl::StatusOr<std::vector<fs::path>> FilesOf(const CorpusSource& source) {
  std::error_code error;
  if (IsFolder(source)) return TextFilesBelow(source.path, source.setting);
  if (fs::exists(source.path, error)) return std::vector<fs::path>{source.path};
  return absl::NotFoundError(absl::StrCat(source.setting, ".path: no file ", source.path.string(),
                                          " on this machine; name a UTF-8 text file with one text a line, a "
                                          "file of records (.jsonl, .json, .csv, "
                                          ".tsv), or a folder of .txt files"));
}

std::string DigestOfCorpus(const CorpusSource& source, const std::vector<std::string>& digests) {
  if (IsFolder(source)) return Sha256Hex("folder\n" + absl::StrJoin(digests, "\n"));
  const std::optional<RecordForm> form = FormOf(source);
  if (!form) return digests[0];
  const std::string name = source.path.extension().string().substr(1);
  return Sha256Hex(name + "\n" + digests[0] + "\n" + source.field);
}

absl::StatusOr<fs::path> FindCorpus(const std::string& corpus, const fs::path& data_dir) {
  return FindDataFile(corpus, data_dir,
                      {.field = "data.text.corpus",
                       .what = "corpus",
                       .plural = "corpora",
                       .extension = ".txt",
                       .otherwise = "name a text file of your own with data.text.path"});
}

absl::StatusOr<Corpus> Corpus::Open(const CorpusSource& source) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  Corpus corpus;
  corpus.source_ = source;
  if (const std::optional<RecordForm> form = FormOf(source)) {
    ASSIGN_OR_RETURN(corpus.records_,
                     Records::Read(files[0], *form, {{source.setting + ".field", source.field}},
                                   {source.roots, source.bytes_max}));
    for (std::size_t i = 0; i < corpus.records_.size(); ++i) {
      const std::string_view text = corpus.records_.Value(i, 0);
      if (!IsBlank(text)) corpus.texts_.push_back(text);
    }
    return corpus;
  }
  for (const fs::path& path : files) {
    absl::StatusOr<MappedFile> file = MappedFile::Open(path, source.roots);
    if (!file.ok()) return Unreadable(file.status());
    const std::string_view text = WholeLines(file->bytes(), source.bytes_max);
    corpus.files_.push_back(*std::move(file));
    if (source.must_be_utf8) RETURN_IF_ERROR(CheckTextFile(text, path.string()));
    for (TextLines lines(text); lines.Next();) {
      if (!IsBlank(lines.line())) corpus.texts_.push_back(lines.line());
    }
  }
  return corpus;
}

absl::Status Corpus::CheckTexts() const {
  if (texts_.size() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(source_.path.string(), " has ", texts_.size(),
                   HasDocuments() ? " texts; two records at least are needed"
                                  : " non-empty lines; one text a line is needed, two at least"));
}

bool Corpus::HasDocuments() const { return FormOf(source_).has_value(); }

bool Corpus::HasByteOrderMark() const {
  return !files_.empty() && files_[0].bytes().starts_with(kByteOrderMark);
}

std::string Corpus::ContentDigest() const {
  if (HasDocuments()) return DigestOfCorpus(source_, {Sha256Hex(records_.bytes())});
  std::vector<std::string> digests;
  for (const MappedFile& file : files_) digests.push_back(Sha256Hex(file.bytes()));
  return DigestOfCorpus(source_, digests);
}

}  // namespace inlier
