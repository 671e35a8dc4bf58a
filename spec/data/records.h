// The rows of a file of records (base/data/record_form.h): of each the texts of the columns that a specification names.
//
// Columns are named by the headings of the first row, or by the keys of the objects. Those of separated cells may all be
// named by numbers from 1, and then the first row is a record too. Rows have as many cells as the first one; a byte order
// mark is skipped. A cell is its bytes; of an object a text is a string, and a value may be a number or a truth value too.
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_DATA_RECORDS_H_
#define INLIER_SPEC_DATA_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "base/data/record_form.h"
#include "base/files/mapped_file.h"

namespace inlier {

// A column that a specification names.
struct RecordColumn {
  enum Content {
    kText,      // A string.
    kValue,     // A string, number or truth value.
    kOptional,  // A string; empty where the column is not there or null.
  };
  std::string setting;  // The setting that names it, for messages: "data.text.field".
  std::string name;     // A heading or key, or a number from 1.
  Content content = kText;
};

// A heading or label without the space around it.
std::string_view TrimmedCell(std::string_view cell);

struct RecordAccess {
  DataRoots roots = {};
  // Rows that begin behind so many bytes are not read.
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
};

class Records {
 public:
  Records() = default;  // None.
  // InvalidArgument with file, line, and column where one is known: what is wrong and what is wanted. Other columns are
  // named only where the roots have no limit. NotFound and PermissionDenied as MappedFile::Open.
  static absl::StatusOr<Records> Read(const std::filesystem::path& path, RecordForm form,
                                      std::vector<RecordColumn> columns, const RecordAccess& access = {});

  std::size_t size() const { return lines_.size(); }
  // Lives as long as the records.
  std::string_view Value(std::size_t row, std::size_t column) const {
    return values_[row * columns_.size() + column];
  }
  // "<file>:<line>", for messages.
  std::string Place(std::size_t row) const;
  // The columns are named by numbers: the first line of the file is a record.
  bool by_numbers() const { return by_numbers_; }
  RecordForm form() const { return form_; }
  std::string_view bytes() const { return file_.bytes(); }

 private:
  absl::Status ReadSeparated(std::string_view text, const RecordAccess& access);
  absl::Status ReadJson(std::string_view text, const RecordAccess& access);

  std::string path_;
  RecordForm form_ = RecordForm::kTabs;
  std::vector<RecordColumn> columns_;
  bool by_numbers_ = false;
  MappedFile file_;
  std::deque<std::string> owned_;  // Values that are not verbatim parts of the file.
  std::vector<std::string_view> values_;
  std::vector<std::uint64_t> lines_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_RECORDS_H_
