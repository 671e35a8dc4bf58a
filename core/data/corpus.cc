#include "core/data/corpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "core/data/json_text.h"
#include "core/data/utf8_text.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool IsPlainName(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
             std::string::npos &&
         name.front() != '.';
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

// The line of `text` at *begin, which moves behind its end, without the end; *number counts lines from one.
std::string_view TakeLine(std::string_view text, size_t* begin, size_t* number) {
  const size_t end = std::min(text.find('\n', *begin), text.size());
  std::string_view line = text.substr(*begin, end - *begin);
  *begin = end + 1;
  ++*number;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// What a remembered digest holds for: size, time of change and number of the file.
absl::StatusOr<std::string> FileState(const fs::path& file, bool* settled) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0) return ErrnoStatus("stat " + file.string());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  // A file changed a moment ago may change again without its time of change showing it.
  if (std::chrono::duration_cast<std::chrono::seconds>(now).count() - info.st_mtim.tv_sec <= 2)
    *settled = false;
  return absl::StrCat(info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino);
}

// The states of all files in one line.
absl::StatusOr<std::string> StateOf(const std::vector<fs::path>& files, bool* settled) {
  *settled = true;
  if (files.size() == 1) return FileState(files[0], settled);
  Sha256 sha;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string state, FileState(file, settled));
    sha.Update(absl::StrCat(file.string(), "\n", state, "\n"));
  }
  return sha.HexDigest();
}

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

// The files of a source, in the order of their texts.
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

// A file that is there and cannot be read.
absl::Status WithRemedy(const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()),
                                                  "; let the worker's user read it, or name another text"));
}

std::string KeysOf(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys.empty() ? "it has none" : "it has: " + absl::StrJoin(keys, ", ");
}

}  // namespace

std::vector<std::string> CorporaIn(const fs::path& data_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_dir, error)) {
    if (entry.path().extension() == ".txt" && entry.is_regular_file(error))
      names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<fs::path> FindCorpus(const std::string& corpus, const fs::path& data_dir) {
  if (!IsPlainName(corpus)) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.text.corpus: \"", corpus,
                     "\" is not the name of a corpus; a file is named with data.text.path"));
  }
  const fs::path file = data_dir / (corpus + ".txt");
  std::error_code error;
  if (fs::is_regular_file(file, error)) return file;
  const std::vector<std::string> there = CorporaIn(data_dir);
  return absl::NotFoundError(absl::StrCat(
      "data.text.corpus: no corpus \"", corpus, "\" in ", data_dir.string(),
      there.empty() ? " (no corpora there)" : absl::StrCat(" (there are: ", absl::StrJoin(there, ", "), ")"),
      "; get it with `make corpora`, or name a text file of your own with data.text.path"));
}

absl::StatusOr<std::string> CachedDigest(const CorpusSource& source, const fs::path& cache_dir) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  std::error_code error;
  const fs::path absolute = fs::weakly_canonical(source.path, error);
  bool settled = false;
  ASSIGN_OR_RETURN(const std::string state, StateOf(files, &settled));
  std::string name = absolute.string();
  if (IsJsonLines(source)) absl::StrAppend(&name, "\n", source.field);
  const fs::path memory = cache_dir / absl::StrCat("corpus-", Sha256Hex(name).substr(0, 16), ".digest");

  // One line: the digest, then what it holds for.
  if (std::ifstream in(memory); in) {
    std::string digest, remembered;
    if (in >> digest && std::getline(in >> std::ws, remembered) && digest.size() == 64 && remembered == state)
      return digest;
  }
  std::vector<std::string> digests;
  for (const fs::path& file : files) {
    absl::StatusOr<std::string> digest = Sha256HexOfFile(file);
    if (!digest.ok()) return WithRemedy(digest.status());
    digests.push_back(*std::move(digest));
  }
  const std::string digest = Combine(source, digests);
  bool settled_after = false;
  ASSIGN_OR_RETURN(const std::string state_after, StateOf(files, &settled_after));
  if (state_after != state) {
    return absl::UnavailableError(
        absl::StrCat(source.path.string(), " changed while it was read; try again when it is complete"));
  }
  if (settled) RETURN_IF_ERROR(WriteFileAtomically(memory, absl::StrCat(digest, " ", state, "\n")));
  return digest;
}

absl::StatusOr<Corpus> Corpus::Open(const CorpusSource& source) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesOf(source));
  Corpus corpus;
  corpus.source_ = source;
  const bool json_lines = !IsFolder(source) && IsJsonLines(source);
  for (const fs::path& path : files) {
    absl::StatusOr<MappedFile> file = MappedFile::Open(path);
    if (!file.ok()) return WithRemedy(file.status());
    const std::string_view text = file->bytes();
    corpus.files_.push_back(*std::move(file));
    if (source.must_be_utf8) RETURN_IF_ERROR(CheckUtf8(text, path.string()));
    if (json_lines) {
      RETURN_IF_ERROR(corpus.AddJsonLines(text, path.string()));
    } else {
      corpus.AddLines(text);
    }
  }
  return corpus;
}

void Corpus::AddLines(std::string_view text) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view line = TakeLine(text, &begin, &number);
    if (!IsBlank(line)) texts_.push_back(line);
  }
}

absl::Status Corpus::AddJsonLines(std::string_view text, const std::string& file) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view line = TakeLine(text, &begin, &number);
    if (IsBlank(line)) continue;
    ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonText(line, file, number));
    const auto invalid = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": ", what));
    };
    if (!object.is_object()) {
      return invalid(absl::StrCat("a JSON object is needed in every line, such as {\"", source_.field,
                                  "\": \"…\"}, and this is of type ", object.type_name()));
    }
    const auto found = object.find(source_.field);
    if (found == object.end()) {
      return invalid(absl::StrCat("no field \"", source_.field, "\" (", KeysOf(object),
                                  "); name the one with the text by data.text.field"));
    }
    if (!found->is_string()) {
      return invalid(absl::StrCat("the field \"", source_.field, "\" is of type ", found->type_name(),
                                  ", and a text is a string; name another with data.text.field"));
    }
    auto value = found->get<std::string>();
    if (IsBlank(value)) continue;
    texts_.push_back(owned_.emplace_back(std::move(value)));
  }
  return absl::OkStatus();
}

std::string Corpus::ContentDigest() const {
  std::vector<std::string> digests;
  for (const MappedFile& file : files_) digests.push_back(Sha256Hex(file.bytes()));
  return Combine(source_, digests);
}

}  // namespace inlier
