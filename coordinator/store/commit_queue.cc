#include "coordinator/store/commit_queue.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/deliberate_bug.h"

namespace inlier {
namespace {

// Rows of bulk in a transaction of unrelated control: bulk is never starved.
constexpr std::uint64_t kBulkBesideControl = 512;
// Rows of a transaction without control: batches that come meanwhile wait for its end.
constexpr std::uint64_t kBulkAlone = 1024;

// Even for a token, odd for a worker, 0 for neither.
std::uint64_t StreamKey(const Change& change) {
  return std::visit(
      [](const auto& alternative) -> std::uint64_t {
        using T = std::decay_t<decltype(alternative)>;
        if constexpr (std::is_same_v<T, WorkerAcknowledged> || std::is_same_v<T, WorkerForgotten>) {
          return std::hash<std::string>()(alternative.incarnation) | 1;
        } else if constexpr (std::is_same_v<T, AttemptRow> || std::is_same_v<T, AttemptInfo> ||
                             std::is_same_v<T, AttemptEnded> || std::is_same_v<T, MeasurementRow> ||
                             std::is_same_v<T, LogRow> || std::is_same_v<T, CheckpointRow>) {
          return alternative.token << 1;
        } else {
          return 0;
        }
      },
      change);
}

std::uint64_t TextBytes(const Change& change) {
  return std::visit(
      [](const auto& alternative) -> std::uint64_t {
        using T = std::decay_t<decltype(alternative)>;
        if constexpr (std::is_same_v<T, LogRow>) {
          return alternative.text.size();
        } else if constexpr (std::is_same_v<T, MeasurementRow>) {
          return alternative.site.size();
        } else if constexpr (std::is_same_v<T, StageRow>) {
          return alternative.spec_json.size();
        } else if constexpr (std::is_same_v<T, TrialRow>) {
          return alternative.spec_json.size() + alternative.labels_json.size();
        } else if constexpr (std::is_same_v<T, EventRow>) {
          return alternative.message.size();
        } else {
          return 0;
        }
      },
      change);
}

bool IsBulk(const Change& change) {
  return std::holds_alternative<MeasurementRow>(change) || std::holds_alternative<LogRow>(change) ||
         std::holds_alternative<EventRow>(change) || std::holds_alternative<WorkerAcknowledged>(change);
}

bool Intersects(const std::vector<std::uint64_t>& sorted, const std::vector<std::uint64_t>& keys) {
  return std::ranges::any_of(
      keys, [&](std::uint64_t key) { return std::binary_search(sorted.begin(), sorted.end(), key); });
}

void SortUnique(std::vector<std::uint64_t>& keys) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

}  // namespace

void CommitQueue::Push(ChangeBatch batch, std::function<void(absl::Status)> done, Timestamp now) {
  QueuedBatch queued{std::move(batch), std::move(done), now, ++pushed_, sizeof(QueuedBatch), {}};
  const bool bulk = queued.batch.lane == Lane::kBulk;
  for (const Change& change : queued.batch.changes) {
    INLIER_CHECK(!bulk || IsBulk(change));
    queued.bytes += sizeof(Change) + TextBytes(change);
    const std::uint64_t key = StreamKey(change);
    if (key != 0 && (queued.keys.empty() || queued.keys.back() != key)) queued.keys.push_back(key);
  }
  SortUnique(queued.keys);
  Account(queued, /*arrives=*/true);
  (bulk ? bulk_ : control_).push_back(std::move(queued));
}

void CommitQueue::Account(const QueuedBatch& queued, bool arrives) {
  const std::uint64_t sign = arrives ? 1 : ~std::uint64_t{0};  // -1 modulo 2^64.
  rows_ += sign * queued.batch.rows();
  bytes_ += sign * queued.bytes;
  if (queued.batch.lane != Lane::kBulk) return;
  bulk_bytes_ += sign * queued.bytes;
  for (const std::uint64_t key : queued.keys) {
    std::uint64_t& count = bulk_keys_[key];
    count += sign;
    if (count == 0) bulk_keys_.erase(key);
  }
}

std::optional<Timestamp> CommitQueue::oldest_bulk() const {
  if (bulk_.empty()) return std::nullopt;
  return bulk_.front().arrived;
}

void CommitQueue::TakeBulkBefore(const QueuedBatch& control, std::vector<QueuedBatch>& taken) {
  const std::vector<std::uint64_t>& keys = control.keys;
  if (std::ranges::none_of(keys, [this](std::uint64_t key) { return bulk_keys_.contains(key); })) return;
  std::vector<std::uint64_t> grown = keys;
  std::vector<bool> goes(bulk_.size(), false);
  for (std::size_t i = bulk_.size(); i-- > 0;) {
    if (bulk_[i].number > control.number || !Intersects(grown, bulk_[i].keys)) continue;
    goes[i] = true;
    grown.insert(grown.end(), bulk_[i].keys.begin(), bulk_[i].keys.end());
    SortUnique(grown);
  }
  std::deque<QueuedBatch> stay;
  for (std::size_t i = 0; i < bulk_.size(); ++i) {
    if (!goes[i]) {
      stay.push_back(std::move(bulk_[i]));
      continue;
    }
    Account(bulk_[i], /*arrives=*/false);
    taken.push_back(std::move(bulk_[i]));
  }
  bulk_ = std::move(stay);
}

std::vector<QueuedBatch> CommitQueue::Take(std::uint64_t rows_max) {
  std::vector<QueuedBatch> taken;
  std::uint64_t rows = 0;
  const auto fits = [&](const QueuedBatch& next) {
    return taken.empty() || rows + next.batch.rows() <= rows_max;
  };
  while (!control_.empty() && fits(control_.front())) {
    const std::size_t before = taken.size();
    if (!INLIER_BUG("control_overtakes_its_bulk")) TakeBulkBefore(control_.front(), taken);
    Account(control_.front(), /*arrives=*/false);
    taken.push_back(std::move(control_.front()));
    control_.pop_front();
    for (std::size_t i = before; i < taken.size(); ++i) rows += taken[i].batch.rows();
  }
  if (!control_.empty()) return taken;
  // A caller waits for this commit: it does not grow by much.
  const std::uint64_t enough = taken.empty() ? std::min(rows_max, kBulkAlone) : rows + kBulkBesideControl;
  while (!bulk_.empty() && fits(bulk_.front()) && rows < enough) {
    Account(bulk_.front(), /*arrives=*/false);
    rows += bulk_.front().batch.rows();
    taken.push_back(std::move(bulk_.front()));
    bulk_.pop_front();
  }
  return taken;
}

}  // namespace inlier
