#include "coordinator/services/shell.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

// The clock is looked at no later than this, and a due step runs after what waits already.
constexpr Duration kLongestSleep = std::chrono::seconds(60);

// Larger decisions are left to the writer: others need not wait for the turn meanwhile.
constexpr std::uint64_t kRowsAtOnce = 256;

}  // namespace

Shell::Shell(boost::asio::io_context& io, Orchestrator& orchestrator, Committer& committer,
             CoordinatorMetrics& metrics, std::function<void(absl::Status)> fatal)
    : turn_(io),
      orchestrator_(orchestrator),
      committer_(committer),
      metrics_(metrics),
      fatal_(std::move(fatal)),
      timer_(io),
      answers_(1) {}

Shell::~Shell() { answers_.join(); }

void Shell::Start(Effects effects) {
  stopped_ = false;
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void Shell::Stop() {
  stopped_ = true;
  timer_.cancel();
}

void Shell::Fail(const absl::Status& status) {
  if (gate_.Close(status) && !absl::IsUnavailable(status)) fatal_(status);
}

// A batch that will never be durable ends it all: memory says something that the store does not. Only a fault
// of the disk or the end of the process does that.
void Shell::Settled(std::uint64_t number, const absl::Status& status) {
  if (status.ok()) {
    Failpoint("reply.before");
    gate_.Settled(number, status);
  } else {
    Fail(status);
  }
}

void Shell::PushWhenCommitted(std::map<std::string, v1::CoordinatorSync> pushes) {
  for (auto& [incarnation, push] : pushes) {
    const Listeners::Place* place = listeners_.Find(incarnation);
    if (place == nullptr) continue;
    gate_.AfterAll([place = *place, push = std::move(push)](const absl::Status& status) mutable {
      if (status.ok()) place.Push(std::move(push));
    });
  }
}

void Shell::Listen(const std::string& incarnation, Listeners::Place place) {
  listeners_.Add(incarnation, std::move(place));
  orchestrator_.SetListening(incarnation, true);
  // What became ready while it was being answered.
  Deliver(Effects(), nullptr, nullptr);
}

void Shell::Unlisten(const std::string& incarnation, const Listener* ended) {
  if (listeners_.Remove(incarnation, ended)) orchestrator_.SetListening(incarnation, false);
}

void Shell::Deliver(Effects effects, const std::string* worker, ReleaseGate::Reply reply) {
  if (!stopped_) orchestrator_.Offer(Now(), committer_.Health().status.ok(), effects);
  metrics_.ObserveEffects(effects);
  std::map<std::string, v1::CoordinatorSync> pushes = std::move(effects.pushes);
  const std::uint64_t number = gate_.Decided(effects, worker, std::move(reply));
  PushWhenCommitted(std::move(pushes));
  if (number != 0) Commit(number, std::move(effects.changes));
  if (!effects.log.empty()) {  // Nobody waits for it.
    const LogBatch batch;
    for (const std::string& line : effects.log) spdlog::info("{}", line);
  }
  Arm();
}

void Shell::Commit(std::uint64_t number, ChangeBatch changes) {
  // Alone, so that batches settle in their order; not while others wait for the turn, for they could decide
  // meanwhile and share the next transaction.
  const bool now = gate_.unsettled() == 1 && changes.lane == Lane::kControl &&
                   changes.rows() <= kRowsAtOnce && !turn_.Wanted();
  if (now) {
    if (const std::optional<absl::Status> status = committer_.CommitNow(changes)) {
      // The answer is sent when others may have the turn; an error stops them before.
      if (status->ok()) {
        turn_.AfterRelease([this, number] { Settled(number, absl::OkStatus()); });
      } else {
        Settled(number, *status);
      }
      return;
    }
  }
  committer_.Submit(std::move(changes), [this, number](absl::Status status) {
    boost::asio::post(answers_, [this, number, status] { Settled(number, status); });
  });
}

void Shell::AfterCommit(std::function<void(absl::Status)> call) { gate_.AfterAll(std::move(call)); }

void Shell::Submit(const v1::SubmitSweepRequest& request, std::unique_ptr<SweepExpander> expander,
                   Reply<v1::SubmitSweepResponse> reply) {
  if (const absl::Status store = committer_.Health().status; !store.ok()) {
    reply(
        Annotate(store, "while storing the sweep; nothing was stored, submit it again when there is space"));
    return;
  }
  Answer<v1::SubmitSweepResponse>(
      [&](Effects& effects) { return orchestrator_.OnSubmit(request, Now(), effects, std::move(expander)); },
      std::move(reply));
}

void Shell::Edit(const v1::EditSweepRequest& request, SweepGrid grid, Reply<v1::EditSweepResponse> reply) {
  Answer<v1::EditSweepResponse>(
      [&](Effects& effects) { return orchestrator_.OnEdit(request, Now(), effects, std::move(grid)); },
      std::move(reply));
}

void Shell::Sync(const v1::WorkerSync& sync, bool by_stream, Reply<v1::CoordinatorSync> reply) {
  listeners_.Remove(sync.incarnation());
  const CommitterHealth health = committer_.Health();
  Orchestrator::SyncLimits limits = SyncLimitsUnder(health);
  limits.by_stream = by_stream;
  Effects effects;
  // Held by pointer: an answer can be large, and what waits may be copied.
  auto response = std::make_shared<absl::StatusOr<v1::CoordinatorSync>>(
      orchestrator_.OnSync(sync, Now(), limits, effects));
  const std::string worker = sync.incarnation();
  Deliver(std::move(effects), &worker, [response, reply = std::move(reply)](absl::Status status) {
    reply(status.ok() ? std::move(*response) : absl::StatusOr<v1::CoordinatorSync>(status));
  });
}

void Shell::Tick() {
  if (stopped_) return;
  armed_.reset();
  Effects effects;
  orchestrator_.Tick(Now(), effects);
  Deliver(std::move(effects), nullptr, nullptr);
  Arm();
}

void Shell::Arm() {
  if (stopped_) return;
  const Timestamp latest = MonotonicNow() + kLongestSleep;
  const Timestamp at = std::min(orchestrator_.NextDeadline().value_or(latest), latest);
  if (armed_ && *armed_ <= at) return;
  armed_ = at;
  timer_.expires_at(std::chrono::steady_clock::time_point(at.since_start));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Post([this] { Tick(); });
  });
}

}  // namespace inlier
