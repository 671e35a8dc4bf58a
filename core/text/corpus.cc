#include "core/text/corpus.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/data/data_folder.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/digest.h"
#include "base/status.h"
#include "core/text/json_line.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool IsJsonLines(const CorpusSource& source) { return source.path.native().ends_with(".jsonl"); }

bool IsFolder(const CorpusSource& source) {
  std::error_code error;
  return fs::is_directory(source.path, error);
}

absl::StatusOr<std::vector<fs::path>> TextFilesBelow(const fs::path& folder) {
  const auto failed = [](const fs::path& place, const std::error_code& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.text.path: cannot read ", place.string(), ": ", error.message()));
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
    return absl::InvalidArgumentError(
        absl::StrCat("data.text.path: no .txt file in the folder ", folder.string(),
                     " or below it; put text files there, one text a line, or name another folder"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::vector<fs::path>> FilesOf(const CorpusSource& source) {
  std::error_code error;
  if (IsFolder(source)) return TextFilesBelow(source.path);
  if (fs::exists(source.path, error)) return std::vector<fs::path>{source.path};
  return absl::NotFoundError(absl::StrCat(
      "data.text.path: no file ", source.path.string(),
      " on this machine; name a UTF-8 text file with one text a line, a .jsonl file, or a folder of "
      ".txt files"));
}

// The digest of a source whose files have these digests.
std::string Combine(const CorpusSource& source, const std::vector<std::string>& digests) {
  if (IsFolder(source)) return Sha256Hex("folder\n" + absl::StrJoin(digests, "\n"));
  return IsJsonLines(source) ? Sha256Hex("jsonl\n" + digests[0] + "\n" + source.field) : digests[0];
}

}  // namespace

absl::StatusOr<fs::path> FindCorpus(const std::string& corpus, const fs::path& data_dir) {
  return FindDataFile(corpus, data_dir,
                      {.field = "data.text.corpus",
                       .what = "corpus",
                       .plural = "corpora",
                       .extension = ".txt",
                       .otherwise = "name a text file of your own with data.text.path"});
}

absl::StatusOr<std::string> CachedDigest(const CorpusSource& source, const fs::path& cache_dir,
                                         const DigestProgress& progress) {
  RETURN_IF_ERROR(source.roots.Check(source.path));
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(source.path, error);
  std::string name = absolute.string();
  if (IsJsonLines(source)) absl::StrAppend(&name, "\n", source.field);
  const fs::path memory = cache_dir / absl::StrCat("corpus-", Sha256Hex(name).substr(0, 16), ".digest");
  return CachedDigestOfFiles(
      files, source.path, source.roots, memory,
      [&source](const std::vector<std::string>& digests) { return Combine(source, digests); }, progress);
}

absl::StatusOr<Corpus> Corpus::Open(const CorpusSource& source) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  Corpus corpus;
  corpus.source_ = source;
  for (const fs::path& path : files) {
    absl::StatusOr<MappedFile> file = MappedFile::Open(path, source.roots);
    if (!file.ok()) return Unreadable(file.status());
    const std::string_view text = file->bytes();
    corpus.files_.push_back(*std::move(file));
    if (source.must_be_utf8) RETURN_IF_ERROR(CheckUtf8(text, path.string()));
    RETURN_IF_ERROR(corpus.AddLines(text, path.string()));
  }
  return corpus;
}

absl::Status Corpus::AddLines(std::string_view text, const std::string& file) {
  const bool json = HasDocuments();
  for (TextLines lines(text); lines.Next();) {
    if (IsBlank(lines.line())) continue;
    if (!json) {
      texts_.push_back(lines.line());
      continue;
    }
    ASSIGN_OR_RETURN(const JsonLine object,
                     JsonLine::Parse(lines.line(), file, lines.number(), source_.field));
    ASSIGN_OR_RETURN(std::string value, object.Text(source_.field, "data.text.field"));
    if (IsBlank(value)) continue;
    texts_.push_back(owned_.emplace_back(std::move(value)));
  }
  return absl::OkStatus();
}

bool Corpus::HasDocuments() const { return !IsFolder(source_) && IsJsonLines(source_); }

std::string Corpus::ContentDigest() const {
  std::vector<std::string> digests;
  for (const MappedFile& file : files_) digests.push_back(Sha256Hex(file.bytes()));
  return Combine(source_, digests);
}

}  // namespace inlier
