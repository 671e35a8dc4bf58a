#include "worker/slots/rank_processes.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "worker/attempt_folder.h"
#include "worker/processes/event_reader.h"
#include "worker/processes/trial_log.h"
#include "worker/slots/trial_command.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

// The rank failed by itself: it did not stop on request, and it lost no other one before.
bool IsCause(const v1::Outcome& outcome) {
  return outcome.kind() == v1::Outcome::FAILED && outcome.failure() != v1::PREEMPTED &&
         !outcome.lost_a_rank();
}

bool Yielded(const v1::Outcome& outcome) {
  return outcome.kind() == v1::Outcome::FAILED && outcome.failure() == v1::PREEMPTED;
}

}  // namespace

struct RankProcesses::Rank {
  Rank(int number, std::size_t line_bytes_max) : number(number), reader(line_bytes_max) {}

  void Read(std::string_view bytes) {
    std::vector<v1::TrialEvent> events;
    for (const std::string& message : reader.Feed(bytes, events)) log.WriteLine(message);
    for (const v1::TrialEvent& event : events) {
      if (event.has_outcome()) reported = event.outcome();
    }
  }

  const int number;
  EventReader reader;
  TrialLog log;
  std::unique_ptr<TrialProcess> process;
  std::uint64_t oom_kills_before = OutOfMemoryKills();
  bool killed = false;  // By the worker.
  std::optional<v1::Outcome> reported;
  std::optional<v1::Outcome> ended;
  ProcessExit exit;
  std::function<void()> on_end;
};

RankProcesses::RankProcesses(asio::io_context& io, const AttemptSettings& settings, std::vector<Place> places)
    : io_(io),
      settings_(settings),
      places_(std::move(places)),
      gone_(io, asio::steady_timer::time_point::max()) {}

RankProcesses::~RankProcesses() { Signal(SIGKILL); }

asio::awaitable<void> RankProcesses::Watch(std::shared_ptr<Rank> rank) {
  rank->exit = co_await rank->process->WaitForExit();
  rank->log.Finish([](const std::string&) {});
  const AttemptEnd end{.exit = rank->exit,
                       .reported = rank->reported,
                       .stopped = StopKind::kNone,
                       .stop_reason = {},
                       .out_of_memory_kill = OutOfMemoryKills() > rank->oom_kills_before,
                       .garbage_lines = rank->reader.garbage_lines(),
                       .first_garbage = rank->reader.first_garbage(),
                       .last_output = rank->log.last_lines()};
  rank->ended = ClassifyEnd(end);
  if (rank->killed && !rank->reported) rank->ended->set_lost_a_rank(true);
  rank->on_end();
}

asio::awaitable<absl::Status> RankProcesses::Start(const v1::AttemptSpec& first, fs::path folder,
                                                   std::function<void(Duration)> on_broken) {
  for (const Place& place : places_) co_await place.waiting_child->End();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto number = static_cast<int>(i) + 1;
    const fs::path own = folder / absl::StrCat(kRankFolderPrefix, number);
    v1::AttemptSpec spec = first;
    spec.mutable_gang()->set_rank(static_cast<std::uint32_t>(number));
    SetSlot(places_[i].slot, spec);
    if (first.gang().has_address()) spec.mutable_gang()->set_address(places_[i].slot.address);
    if (const absl::Status made = PrepareAttemptFolder(own, spec); !made.ok()) co_return made;
    auto rank = std::make_shared<Rank>(number, settings_.line_bytes_max);
    if (const absl::Status opened = rank->log.Open(own / kAttemptLogName); !opened.ok())
      spdlog::warn("rank_log_in_memory rank={} reason={}", number, LogText(opened.message()));
    Rank* const at = rank.get();
    const absl::StatusOr<Command> command =
        TrialCommand(settings_, places_[i].slot, spec, {(own / kAttemptSpecName).string()}, own);
    if (!command.ok()) co_return command.status();
    absl::StatusOr<std::unique_ptr<TrialProcess>> process = TrialProcess::Start(
        io_, *command, [at](std::string_view bytes) { at->Read(bytes); },
        [at](std::string_view bytes) { at->log.Write(bytes, [](const std::string&) {}); });
    if (!process.ok()) co_return process.status();
    rank->process = *std::move(process);
    rank->on_end = [this, at, on_broken, alive = std::weak_ptr<int>(alive_)] {
      if (alive.expired()) return;
      gone_.cancel();
      const v1::Outcome& outcome = *at->ended;
      if (outcome.kind() != v1::Outcome::FAILED || first_has_ended_ || std::exchange(broken_, true)) return;
      if (outcome.failure() == v1::PREEMPTED) return on_broken(settings_.stop_grace);
      spdlog::warn("gang_broken rank={} reason={}", at->number, LogText(outcome.message()));
      on_broken(kBrokenGrace);
    };
    ranks_.push_back(rank);
    asio::co_spawn(io_, Watch(rank), asio::detached);
  }
  co_return absl::OkStatus();
}

void RankProcesses::Signal(int signal) {
  for (const std::shared_ptr<Rank>& rank : ranks_) {
    if (rank->ended) continue;
    if (signal == SIGKILL) rank->killed = true;
    rank->process->Signal(signal);
  }
}

bool RankProcesses::AnyLives() const {
  return std::ranges::any_of(ranks_, [](const auto& rank) { return !rank->ended; });
}

asio::awaitable<void> RankProcesses::End() {
  first_has_ended_ = true;
  const auto deadline = std::chrono::steady_clock::now() + kBrokenGrace;
  bool killed = false;
  while (AnyLives()) {
    gone_.expires_at(killed ? asio::steady_timer::time_point::max() : deadline);
    boost::system::error_code error;
    co_await gone_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (!error && !std::exchange(killed, true)) Signal(SIGKILL);
  }
}

v1::Outcome RankProcesses::OutcomeOf(const v1::Outcome& first, const ProcessExit& first_exit) const {
  const bool ended_for_another = broken_ && first_exit.signal == SIGKILL;
  if (!first.lost_a_rank() && !ended_for_another) return first;
  const auto of = [this](bool (*matches)(const v1::Outcome&)) {
    return std::ranges::find_if(ranks_, [&](const auto& rank) { return matches(*rank->ended); });
  };
  auto rank = of(IsCause);
  // Rank 0 was ended for it; where the worker stopped them all, that is the reason.
  if (rank == ranks_.end() && first.failure() == v1::CRASHED) rank = of(Yielded);
  const auto name_of = [this](const Rank& named) {
    return absl::StrCat("rank ", named.number, " of ", ranks_.size() + 1, " on ",
                        places_[static_cast<std::size_t>(named.number) - 1].slot.device);
  };
  v1::Outcome outcome = rank == ranks_.end() ? first : *(*rank)->ended;
  if (rank != ranks_.end()) {
    outcome.set_message(absl::StrCat(name_of(**rank), ": ", outcome.message()));
    return outcome;
  }
  for (const std::shared_ptr<Rank>& silent : ranks_) {
    if (silent->killed && !silent->reported)
      outcome.set_message(
          absl::StrCat(outcome.message(), "; ", name_of(*silent), " did not answer any more"));
  }
  return outcome;
}

double RankProcesses::CpuSeconds() const {
  double seconds = 0;
  for (const std::shared_ptr<Rank>& rank : ranks_)
    seconds += rank->ended ? rank->exit.cpu_seconds : rank->process->CpuSeconds();
  return seconds;
}

std::int64_t RankProcesses::ResidentBytes() const {
  std::int64_t bytes = 0;
  for (const std::shared_ptr<Rank>& rank : ranks_) bytes += rank->process->ResidentBytes();
  return bytes;
}

std::int64_t RankProcesses::ResidentBytesMax() const {
  std::int64_t bytes = 0;
  for (const std::shared_ptr<Rank>& rank : ranks_) bytes = std::max(bytes, rank->exit.resident_bytes_max);
  return bytes;
}

}  // namespace inlier
