// The data that trainings read: for each data source (spec/trial/data_source.h) the digests under which workers
// found it, and the latest of them with its time.
//
// Time here is counted in tokens, which grow for the life of the database: a digest that was asked for, or found
// by an attempt that was leased, with token t is one of after t. So "found after this sweep was submitted" is a
// comparison of two numbers. The times are not stored: after a restart a sweep that needs one asks again.
#ifndef INLIER_COORDINATOR_STATE_DATA_TABLE_H_
#define INLIER_COORDINATOR_STATE_DATA_TABLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/digest.h"
#include "coordinator/state/id_table.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/rows.h"

namespace inlier {

struct DataSource {
  std::vector<DataId> versions;  // Its rows with a digest.
  DataId latest;  // The one that was found last; the source itself: no worker could read it; zero: not known.
  Token as_of = 0;       // Of `latest`.
  bool differs = false;  // Some worker was seen with other data than a training is bound to.
};

class DataTable : private IdTable<DataId, DataRow> {
 public:
  using IdTable::at, IdTable::begin, IdTable::end, IdTable::NextId, IdTable::size;

  // REQUIRES: its id is NextId(); there is no row like it; a row with a digest comes after its source's.
  DataRow& Add(DataRow row);

  // The row without a digest; zero: there is none.
  DataId FindSource(const std::string& names) const;
  // The row with this digest; zero: there is none.
  DataId FindVersion(DataId source, const Digest& digest) const;

  // The row without a digest of the same names.
  DataId SourceOf(DataId id) const { return sources_by_id_[static_cast<std::size_t>(id.value() - 1)]; }
  bool IsKnown(DataId id) const { return at(id).digest.has_value(); }

  DataSource& source(DataId id) { return sources_.at(SourceOf(id)); }
  const DataSource& source(DataId id) const { return sources_.at(SourceOf(id)); }

  // `version` was found after `as_of`; what was found later stays.
  void Found(DataId version, Token as_of);

  // Marks the source of `id`: from now on placing looks at what workers are known to have. False: it was marked.
  bool MarkDiffers(DataId id);
  bool AnyDiffers() const { return any_differs_; }

 private:
  std::map<std::string, DataId> by_names_;
  std::vector<DataId> sources_by_id_;
  std::map<DataId, DataSource> sources_;
  bool any_differs_ = false;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_DATA_TABLE_H_
