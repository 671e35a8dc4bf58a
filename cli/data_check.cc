#include "cli/data_check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/data/text_lines.h"
#include "base/files/file.h"
#include "base/files/regular_file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/data/classification_source.h"
#include "spec/data/corpus.h"
#include "spec/data/image_files.h"
#include "spec/data/instruction_source.h"
#include "spec/data/question_file.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/path_text.h"
#include "spec/schema/problems.h"
#include "spec/schema/yaml_document.h"
#include "spec/trial/file_fields.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPointsChecked = 1000;
constexpr std::size_t kBytesChecked = std::size_t{64} << 20;
constexpr std::size_t kImagesChecked = 20'000;
constexpr std::size_t kRowsToJudge = 10;

class DataCheck {
 public:
  explicit DataCheck(fs::path data_dir) : data_dir_(std::move(data_dir)) {}

  void Point(const v1::TrialSpec& spec) {
    VisitFileFields(spec, [this](const std::string& path, v1::FileUse use, const std::string& value) {
      if (!checked_.insert(path + "\n" + value).second) return;
      if (absl::EndsWith(path, ".corpus")) return Named(path, value, ".txt");
      if (path == "data.classification.dataset") return Named(path, value, ".tsv");
      const bool is_path = use == v1::FILE_PATH || (use == v1::NAME_OR_PATH && absl::StartsWith(value, "/"));
      if (path == "evaluation.multiple_choice.path")
        return Add(ReadQuestions(value, {.bytes_max = kBytesChecked}).status(), path, value);
      // The readers of data say more about theirs.
      if (is_path && !(absl::StartsWith(path, "data.") && absl::EndsWith(path, ".path"))) File(path, value);
    });
    const v1::DataSpec& data = spec.data();
    if (data.has_text()) Text(data.text());
    if (data.has_classification()) Rows(data.classification());
    if (data.has_instructions()) Instructions(data.instructions());
    if (data.has_images()) Images(data.images(), spec.model().vit());
  }

  std::vector<DataProblem> Take() { return std::move(problems_); }

 private:
  void Add(DataProblem::Kind kind, const std::string& field, const std::string& value, std::string text) {
    problems_.push_back({kind, field, value, std::move(text)});
  }

  // The error of a reader, which may begin with a field, that of `value` or another.
  void Add(const absl::Status& status, std::string field, const std::string& value) {
    if (status.ok()) return;
    std::string text(status.message());
    if (absl::StartsWith(text, "data.") || absl::StartsWith(text, "evaluation.")) {
      field = text.substr(0, text.find(": "));
      text.erase(0, field.size() + 2);
    }
    std::error_code error;
    const bool absent = absl::IsNotFound(status) && !fs::exists(value, error);
    Add(absent ? DataProblem::kAbsent : DataProblem::kWrong, field, value, std::move(text));
  }

  // True for what has not been opened yet; `how` is what decides how it is read.
  bool IsNew(const google::protobuf::Message& how) { return checked_.insert(how.SerializeAsString()).second; }

  // A file of the data folder, of which workers may have another.
  void Named(const std::string& field, const std::string& name, const std::string& extension) {
    const std::vector<std::string> known = DataFilesIn(data_dir_, extension);
    if (known.empty() || std::ranges::find(known, name) != known.end()) return;
    Add(DataProblem::kDoubtful, field, name,
        absl::StrCat(Quoted(name), " is not in the data folder of this machine (", data_dir_.string(), ")",
                     DidYouMean(name, known),
                     "\n  Its trials fail unless the workers have another data folder with it"));
  }

  // A file or folder that something else than a reader of data will open.
  void File(const std::string& field, const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      Add(DataProblem::kAbsent, field, path, absl::StrCat("no file or folder ", path, " on this machine"));
    } else if (::access(path.c_str(), R_OK) != 0) {
      Add(Unreadable(ErrnoStatus(absl::StrCat("cannot read ", path))), field, path);
    }
  }

  void Corpora(const CorpusSource& source) {
    const std::string field = source.setting + ".path", value = source.path.string();
    const absl::StatusOr<Corpus> corpus = Corpus::Open(source);
    if (!corpus.ok()) return Add(corpus.status(), field, value);
    Add(corpus->CheckTexts(), field, value);
    if (!corpus->HasByteOrderMark()) return;
    Add(DataProblem::kDoubtful, field, value,
        absl::StrCat(value,
                     ":1: begins with a byte order mark, which is read as a character of the first text; "
                     "take it out: sed -i '1s/^\\xEF\\xBB\\xBF//' ",
                     value));
  }

  void Vocabulary(const v1::BytePairSpec& byte_pair, const std::string& setting) {
    if (!byte_pair.has_path() || !IsNew(byte_pair)) return;
    Corpora({.path = byte_pair.path(),
             .field = byte_pair.field(),
             .setting = setting + ".tokenizer.byte_pair",
             .bytes_max = kBytesChecked});
  }

  void Text(const v1::TextDataSpec& text) {
    Vocabulary(text.tokenizer().byte_pair(), "data.text");
    v1::TextDataSpec how;
    how.set_path(text.path());
    how.set_field(text.field());
    if (text.has_path() && IsNew(how))
      Corpora({.path = text.path(), .field = text.field(), .bytes_max = kBytesChecked});
  }

  void Rows(v1::ClassificationDataSpec rows) {
    Vocabulary(rows.tokenizer().byte_pair(), "data.classification");
    rows.clear_tokenizer();
    rows.clear_sequence_length();
    if (!IsNew(rows)) return;
    const std::string field = rows.has_path() ? "data.classification.path" : "data.classification.dataset";
    const std::string value = rows.has_path() ? rows.path() : rows.dataset();
    const absl::StatusOr<ClassificationSource> read = ReadClassificationSource(rows, data_dir_, {});
    if (!read.ok()) {
      if (rows.has_path() || !absl::IsNotFound(read.status())) Add(read.status(), field, value);
      return;
    }
    for (std::size_t table = 0; table < read->tables.size(); ++table)
      JudgeRows(read->tables[table], rows.target() == v1::ClassificationDataSpec::CLASS, field, value);
  }

  void JudgeRows(const LabelledTable& table, bool classes, const std::string& field,
                 const std::string& value) {
    const std::vector<LabelledRow>& rows = table.rows();
    const auto is_first = [&rows](const LabelledRow& row) { return row.label == rows[0].label; };
    if (classes && table.by_numbers() && rows.size() >= kRowsToJudge &&
        std::ranges::count_if(rows, is_first) == 1) {
      Add(DataProblem::kDoubtful, field, value,
          absl::StrCat(table.Place(rows[0]),
                       ": columns are named by numbers, so this first line is a row, the "
                       "only one of its class; if it has headings, name the columns by them"));
    }
    const auto is_blank = [](const LabelledRow& row) { return IsBlank(row.text); };
    if (const auto blank = std::ranges::find_if(rows, is_blank); blank != rows.end()) {
      Add(DataProblem::kDoubtful, field, value,
          absl::StrCat(table.Place(*blank), ": no text in this row, one of ",
                       std::ranges::count_if(rows, is_blank),
                       " such; they are trained on as empty texts: leave them out if that is not meant"));
    }
    const auto is_quoted = [](const LabelledRow& row) {
      return row.text.size() > 1 && row.text.front() == '"' && row.text.back() == '"';
    };
    if (table.form() == RecordForm::kTabs && rows.size() >= kRowsToJudge &&
        std::ranges::all_of(rows, is_quoted)) {
      Add(DataProblem::kDoubtful, field, value,
          absl::StrCat(table.Place(rows[0]),
                       ": every text is between quotation marks, which are a part of it in a "
                       "tab-separated file; write the file without them, or as .csv"));
    }
  }

  void Instructions(const v1::InstructionDataSpec& pairs) {
    Vocabulary(pairs.tokenizer().byte_pair(), "data.instructions");
    v1::InstructionDataSpec how = pairs;
    how.clear_tokenizer();
    how.clear_sequence_length();
    if (pairs.has_path() && IsNew(how))
      Add(ReadInstructions(pairs, {.bytes_max = kBytesChecked}).status(), "data.instructions.path",
          pairs.path());
  }

  void Images(const v1::ImageDataSpec& images, const v1::VitSpec& vit) {
    constexpr char kField[] = "data.images.path";
    v1::ImageDataSpec how;
    how.set_path(images.path());
    if (!images.has_path()) return;
    const std::string key = absl::StrCat(how.SerializeAsString(), vit.has_classes() ? vit.classes() : 0);
    if (!checked_.insert(key).second) return;
    const fs::path folder = images.path();
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      return Add(
          DataProblem::kAbsent, kField, images.path(),
          absl::StrCat("no folder ", images.path(),
                       " on this machine; name one of IDX files, or one with train/ and validation/, a "
                       "folder a class"));
    }
    if (IdxFiles(folder, images.path())) return;
    const absl::StatusOr<ImageParts> parts = ListImages(folder, {});
    if (!parts.ok()) return Add(parts.status(), kField, images.path());
    const std::size_t classes = parts->train.class_names.size();
    if (vit.has_classes() && vit.classes() < classes) {
      Add(DataProblem::kWrong, "model.vit.classes", absl::StrCat(vit.classes()),
          absl::StrCat(vit.classes(), " are too few for the ", classes, " classes of ",
                       parts->train.folder.string(), "; give at least ", classes));
    }
    for (const ImageFiles* part : {&parts->train, &parts->validation})
      ImageHeads(*part, kField, images.path());
  }

  // Names the first file that is no image.
  void ImageHeads(const ImageFiles& part, const std::string& field, const std::string& value) {
    for (std::size_t i = 0; i < std::min(part.files.size(), kImagesChecked); ++i) {
      const fs::path file = part.folder / part.files[i].path;
      std::string head(kPngMagic.size(), '\0');
      absl::StatusOr<RegularFile> opened = RegularFile::Open(file);
      absl::StatusOr<std::size_t> got =
          opened.ok() ? opened->ReadAt(0, head.data(), head.size()) : opened.status();
      if (!got.ok()) return Add(Unreadable(got.status()), field, value);
      if (head.starts_with(kPngMagic) || head.starts_with(kJpegMagic)) continue;
      return Add(DataProblem::kWrong, field, value,
                 absl::StrCat(file.string(), ": ", std::string(NoImage().message())));
    }
  }

  // True where the folder has IDX files; names the one that is missing.
  bool IdxFiles(const fs::path& folder, const std::string& value) {
    const std::vector<fs::path> entries = EntriesOf(folder);
    const auto has = [&entries](const std::string& begin) {
      return std::ranges::any_of(
          entries, [&](const fs::path& entry) { return entry.filename().native().starts_with(begin); });
    };
    if (!has("train-images-idx") && !has("t10k-images-idx")) return false;
    for (const char* part : {"train", "t10k"}) {
      for (const char* files : {"-images-idx", "-labels-idx"}) {
        if (has(absl::StrCat(part, files))) continue;
        Add(DataProblem::kWrong, "data.images.path", value,
            absl::StrCat("no file ", (folder / absl::StrCat(part, files)).string(),
                         "…, with or without .gz: fetch the data set again"));
      }
    }
    return true;
  }

  const fs::path data_dir_;
  std::set<std::string> checked_;
  std::vector<DataProblem> problems_;
};

// True where the text of a sweep's file stands for `value`: itself, or a path with ~ or a variable in it.
bool StandsFor(const std::string& text, const std::string& value) {
  if (text == value) return true;
  const absl::StatusOr<std::string> path = ExpandPath(text, &std::getenv);
  return path.ok() && *path == value;
}

// The place of the text `value` in the document: under a key that ends with `word` if there is one, else anywhere.
std::optional<SourceMap::Position> FindValue(const YamlNode& node, const std::string& word,
                                             const std::string& value, bool under_word) {
  const bool found = node.kind == YamlNode::kScalar && StandsFor(node.text, value);
  if (found && (under_word || word.empty())) return node.position;
  for (const auto& item : node.items) {
    if (const auto place = FindValue(*item, word, value, under_word)) return place;
  }
  for (const YamlNode::Entry& entry : node.entries) {
    const bool is_word = entry.key == word || absl::EndsWith(entry.key, "." + word);
    if (const auto place = FindValue(*entry.value, word, value, is_word)) return place;
  }
  return std::nullopt;
}

}  // namespace

std::vector<DataProblem> FindDataProblems(const SweepGrid& grid, const fs::path& data_dir) {
  DataCheck check(data_dir);
  std::uint64_t points = 0;
  for (auto index = grid.NextIndex(0); index && points < kPointsChecked;
       index = grid.NextIndex(*index + 1), ++points) {
    if (const auto point = grid.At(*index); point.ok()) check.Point(point->spec);
  }
  return check.Take();
}

std::string DataProblemText(const DataProblem& problem, const std::string& file, std::string_view yaml) {
  std::string place = file;
  const YamlDocument document = ParseYaml(yaml);
  if (document.root != nullptr) {
    const std::string word = problem.field.substr(problem.field.rfind('.') + 1);
    std::optional<SourceMap::Position> position = FindValue(*document.root, word, problem.value, false);
    if (!position) position = FindValue(*document.root, "", problem.value, false);
    if (position) absl::StrAppend(&place, ":", position->line, ":", position->column);
  }
  return absl::StrCat(place, ": ", problem.field, ": ", problem.text);
}

}  // namespace inlier
