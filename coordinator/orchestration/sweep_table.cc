#include "coordinator/orchestration/sweep_table.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/deliberate_bug.h"
#include "base/digest.h"
#include "coordinator/orchestration/resources.h"
#include "inlier/v1/packed_sweep.pb.h"

namespace inlier {
namespace {

constexpr std::size_t kTrialsPacked = 4096;
constexpr std::size_t kNoticesPacked = 8;

std::uint32_t HashOf(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
}

// Of one that has ended.
bool MayBePacked(const Sweep& sweep) {
  return !sweep.expander && !sweep.pruner && sweep.pruned.empty() && sweep.kept_from_pruning.empty() &&
         sweep.ahead.empty() && sweep.trials.size() <= kTrialsPacked;
}

void PackTrials(const std::vector<ShortId<TrialId>>& trials, v1::PackedSweep& packed) {
  std::int64_t next = 0;
  for (std::size_t i = 0; i < trials.size();) {
    INLIER_CHECK(trials[i].value() >= next);
    std::size_t run = 1;
    while (i + run < trials.size() &&
           trials[i + run].value() == trials[i].value() + static_cast<std::int64_t>(run))
      ++run;
    packed.add_trials(static_cast<std::uint32_t>(trials[i].value() - next));
    packed.add_trials(static_cast<std::uint32_t>(run));
    next = trials[i].value() + static_cast<std::int64_t>(run);
    i += run;
  }
}

std::vector<ShortId<TrialId>> UnpackTrials(const v1::PackedSweep& packed) {
  std::vector<ShortId<TrialId>> trials;
  std::int64_t next = 0;
  for (int i = 0; i + 1 < packed.trials_size(); i += 2) {
    next += packed.trials(i);
    for (std::uint32_t left = packed.trials(i + 1); left > 0; --left) trials.push_back(TrialId(next++));
  }
  return trials;
}

}  // namespace

void SweepTable::PackInto(Entry& entry) {
  Sweep& sweep = *entry.whole;
  v1::PackedSweep packed;
  const std::string name = sweep.spec.name();
  sweep.spec.clear_name();
  packed.mutable_spec()->Swap(&sweep.spec);
  packed.set_plan(std::move(sweep.plan));
  packed.set_steps(sweep.steps);
  packed.set_state(sweep.state);
  packed.set_points(sweep.points);
  if (sweep.kept) packed.set_kept(*sweep.kept);
  packed.set_trials_told(sweep.trials_told);
  packed.set_trials_known(sweep.trials_known);
  packed.set_next_point(sweep.next_point);
  if (sweep.paused) packed.set_paused(true);
  packed.set_revision(sweep.revision);
  packed.set_request_id(sweep.request_id);
  const std::optional<Digest> digest = ParseSha256Hex(sweep.request_digest);
  packed.set_request_digest(digest ? std::string(digest->begin(), digest->end()) : sweep.request_digest);
  packed.set_submitted_unix_ms(sweep.submitted.unix_ms);
  if (sweep.ended) packed.set_ended_after_ms(sweep.ended->unix_ms - sweep.submitted.unix_ms);
  PackTrials(sweep.trials, packed);
  if (sweep.withdrawn > 0) packed.set_withdrawn(sweep.withdrawn);
  for (const std::uint64_t count : sweep.counts) packed.add_counts(count);
  packed.set_train_stages(sweep.train.total);
  packed.set_train_weight(sweep.train.weight_total);
  packed.set_evaluate_stages(sweep.evaluate.total);
  packed.set_evaluate_weight(sweep.evaluate.weight_total);
  packed.set_version(sweep.version);
  packed.set_notices_told(sweep.notices_told);
  for (std::size_t i = sweep.notices.size() - std::min(sweep.notices.size(), kNoticesPacked);
       i < sweep.notices.size(); ++i)
    packed.add_notices(std::move(sweep.notices[i]));

  entry.name_bytes = static_cast<std::uint32_t>(name.size());
  entry.bytes = static_cast<std::uint32_t>(name.size() + packed.ByteSizeLong());
  char* const bytes = packed_.Add(entry.bytes);
  std::memcpy(bytes, name.data(), name.size());
  INLIER_CHECK(
      packed.SerializeToArray(bytes + name.size(), static_cast<int>(entry.bytes - entry.name_bytes)));
  entry.packed = bytes;
  entry.whole.reset();
}

std::unique_ptr<Sweep> SweepTable::Whole(const Entry& entry) {
  v1::PackedSweep packed;
  INLIER_CHECK(packed.ParseFromArray(entry.packed + entry.name_bytes,
                                     static_cast<int>(entry.bytes - entry.name_bytes)));
  auto sweep = std::make_unique<Sweep>();
  sweep->id = entry.id;
  sweep->spec.Swap(packed.mutable_spec());
  sweep->spec.set_name(std::string(entry.packed, entry.name_bytes));
  sweep->plan = std::move(*packed.mutable_plan());
  sweep->steps = packed.steps();
  sweep->request = RequestOf(sweep->spec.resources());
  sweep->state = packed.state();
  sweep->points = packed.points();
  if (packed.has_kept()) sweep->kept = packed.kept();
  sweep->trials_told = packed.trials_told();
  sweep->trials_known = packed.trials_known();
  sweep->next_point = packed.next_point();
  sweep->paused = packed.paused();
  sweep->revision = INLIER_BUG("packed_sweep_loses_its_revision") ? 1 : packed.revision();
  sweep->request_id = std::move(*packed.mutable_request_id());
  sweep->request_digest = std::move(*packed.mutable_request_digest());
  if (Digest digest; sweep->request_digest.size() == digest.size()) {
    std::memcpy(digest.data(), sweep->request_digest.data(), digest.size());
    sweep->request_digest = HexOf(digest);
  }
  sweep->submitted = WallTime{packed.submitted_unix_ms()};
  if (packed.has_ended_after_ms())
    sweep->ended = WallTime{packed.submitted_unix_ms() + packed.ended_after_ms()};
  sweep->trials = UnpackTrials(packed);
  sweep->withdrawn = packed.withdrawn();
  INLIER_CHECK(packed.counts_size() == static_cast<int>(sweep->counts.size()));
  std::copy(packed.counts().begin(), packed.counts().end(), sweep->counts.begin());
  sweep->train.total = packed.train_stages();
  sweep->train.weight_total = packed.train_weight();
  sweep->evaluate.total = packed.evaluate_stages();
  sweep->evaluate.weight_total = packed.evaluate_weight();
  sweep->version = packed.version();
  sweep->notices_told = packed.notices_told();
  sweep->notices.assign(packed.notices().begin(), packed.notices().end());
  return sweep;
}

Sweep& SweepTable::Add(Sweep sweep) {
  INLIER_CHECK(!entries_.contains(sweep.id));
  Entry& entry = entries_[sweep.id];
  const auto number = static_cast<std::size_t>(entry.id.value());
  name_hashes_.resize(std::max(name_hashes_.size(), number + 1));
  name_hashes_[number] = HashOf(sweep.spec.name());
  entry.whole = std::make_unique<Sweep>(std::move(sweep));
  whole_.insert(entry.id);
  return *entry.whole;
}

Sweep& SweepTable::at(SweepId id) {
  Entry& entry = entries_.at(id);
  if (!entry.whole) {
    entry.whole = Whole(entry);
    entry.packed = nullptr;
    whole_.insert(id);
    ended_.insert(id);
    hooks_.unpacked(*entry.whole);
  }
  return *entry.whole;
}

SweepView SweepTable::View(SweepId id) const {
  const Entry& entry = entries_.at(id);
  if (entry.whole) return SweepView(*entry.whole);
  return SweepView(Whole(entry));
}

void SweepTable::ForEach(absl::FunctionRef<void(const Sweep&)> visit) const {
  entries_.ForEach([visit](const Entry& entry) { visit(entry.whole ? *entry.whole : *Whole(entry)); });
}

std::string_view SweepTable::NameOf(const Entry& entry) {
  return entry.whole ? std::string_view(entry.whole->spec.name())
                     : std::string_view(entry.packed, entry.name_bytes);
}

std::optional<SweepId> SweepTable::FindNewest(std::string_view name) const {
  const std::uint32_t hash = HashOf(name);
  for (std::size_t at = name_hashes_.size(); at-- > 0;) {
    if (name_hashes_[at] != hash) continue;
    const SweepId id(static_cast<std::int64_t>(at));
    if (const Entry* entry = entries_.Find(id); entry != nullptr && NameOf(*entry) == name) return id;
  }
  return std::nullopt;
}

std::vector<std::string> SweepTable::NewestNames(std::size_t max) const {
  std::vector<std::string> names;
  entries_.ForEachBackwards(SweepId(), [&names, max](const Entry& entry) {
    if (names.size() < max) names.emplace_back(NameOf(entry));
    return names.size() < max;
  });
  return names;
}

std::vector<SweepId> SweepTable::IdsBackwards(SweepId end, std::size_t max) const {
  std::vector<SweepId> ids;
  entries_.ForEachBackwards(end, [&ids, max](const Entry& entry) {
    if (ids.size() < max) ids.push_back(entry.id);
    return ids.size() < max;
  });
  return ids;
}

void SweepTable::Pack(absl::FunctionRef<bool(const Sweep&)> over) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    Entry& entry = entries_.at(*at);
    const bool goes_on = entry.whole->state == v1::ACTIVE;
    if (!goes_on && (entry.whole->Open() > 0 || !over(*entry.whole))) {
      ++at;  // Soon, perhaps.
      continue;
    }
    if (!goes_on && MayBePacked(*entry.whole)) {
      hooks_.packs(*entry.whole);
      PackInto(entry);
      whole_.erase(*at);
    }
    at = ended_.erase(at);
  }
}

std::size_t SweepTable::WriteCold(std::size_t parts_max) {
  const std::size_t written = packed_.WriteCold(parts_max);
  return written + entries_.WriteCold(parts_max - written, [](const Entry& entry) { return !entry.whole; });
}

void SweepTable::MapCold() {
  packed_.MapCold();
  entries_.MapCold();
}

}  // namespace inlier
