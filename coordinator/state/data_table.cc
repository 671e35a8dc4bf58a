#include "coordinator/state/data_table.h"

#include <utility>

#include "base/check.h"

namespace inlier {

DataRow& DataTable::Add(DataRow row) {
  DataRow& added = IdTable::Add(std::move(row));
  if (!added.digest) {
    INLIER_CHECK(by_names_.emplace(added.names, added.id).second);
    sources_by_id_.push_back(added.id);
    sources_.emplace(added.id, DataSource());
  } else {
    const DataId source = by_names_.at(added.names);
    sources_by_id_.push_back(source);
    sources_.at(source).versions.push_back(added.id);
  }
  return added;
}

DataId DataTable::FindSource(const std::string& names) const {
  const auto found = by_names_.find(names);
  return found == by_names_.end() ? DataId() : found->second;
}

DataId DataTable::FindVersion(DataId source, const Digest& digest) const {
  for (const DataId id : sources_.at(SourceOf(source)).versions) {
    if (at(id).digest == digest) return id;
  }
  return DataId();
}

void DataTable::Found(DataId version, Token as_of) {
  DataSource& of = source(version);
  if (as_of < of.as_of) return;
  of.as_of = as_of;
  of.latest = version;
}

bool DataTable::MarkDiffers(DataId id) {
  if (std::exchange(source(id).differs, true)) return false;
  any_differs_ = true;
  return true;
}

}  // namespace inlier
