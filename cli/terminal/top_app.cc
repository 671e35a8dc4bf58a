#include "cli/terminal/top_app.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/interrupt.h"
#include "cli/sweeps/sweep_follower.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/sweeps/sweep_watch.h"
#include "cli/terminal/sweep_app.h"
#include "cli/terminal/views.h"

namespace inlier {
namespace {

constexpr Duration kTopFrame = std::chrono::milliseconds(200);
constexpr Duration kListEvery = std::chrono::seconds(2);
constexpr Duration kPatience = std::chrono::seconds(60);
// Each takes a stream; the coordinator's limit of streams for one caller is well above this.
constexpr std::size_t kSweepsFollowed = 12;

struct Followed {
  SweepModel model;
  std::unique_ptr<SweepFollower> follower;
};

// The answers to the calls that are made every few seconds.
struct Lists {
  absl::Status status;
  v1::ListSweepsResponse sweeps;  // Active ones, the newest first.
  v1::ListWorkersResponse workers;
};

Lists FetchLists(Session& session) {
  Lists lists;
  v1::ListSweepsRequest request;
  request.set_active(true);
  auto sweeps = session.Call(&SweepStub::ListSweeps, request, 5);
  auto workers = session.ListWorkers(/*connected=*/false, 5);
  lists.status = sweeps.ok() ? workers.status() : sweeps.status();
  if (lists.status.ok()) {
    lists.sweeps = *std::move(sweeps);
    lists.workers = *std::move(workers);
  }
  return lists;
}

class TopApp {
 public:
  explicit TopApp(Session& session) : session_(session) {}

  absl::Status Run(Screen& screen) {
    while (true) {
      if (Interrupted()) return absl::CancelledError("interrupted");
      if (!lists_call_.valid() && MonotonicNow() - listed_ >= kListEvery) {
        listed_ = MonotonicNow();
        lists_call_ = std::async(std::launch::async, [this] { return FetchLists(session_); });
      }
      if (lists_call_.valid() && lists_call_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
        RETURN_IF_ERROR(TakeLists(lists_call_.get()));
      RETURN_IF_ERROR(TakeUpdates());
      Draw(screen);
      ASSIGN_OR_RETURN(const bool leaves, OnKey(screen, screen.NextKey(kTopFrame)));
      if (leaves) return absl::OkStatus();
    }
  }

  absl::StatusOr<Drawing> Once(int columns) {
    Lists lists = FetchLists(session_);
    RETURN_IF_ERROR(lists.status);
    RETURN_IF_ERROR(TakeLists(std::move(lists)));
    for (auto& [id, followed] : followed_) {
      const Timestamp deadline = MonotonicNow() + std::chrono::seconds(5);
      while (!followed.model.known() && MonotonicNow() < deadline) {
        ASSIGN_OR_RETURN(const std::optional<v1::SweepUpdate> update,
                         followed.follower->Next(std::chrono::milliseconds(200)));
        if (update) followed.model.Take(*update, MonotonicNow());
      }
    }
    constexpr int kRows = 400;  // All of them.
    Drawing drawing = DrawTop(Model(), ViewState{.selected = -1}, PresentTime(), {columns, kRows});
    drawing.pop_back();  // The keys.
    while (!drawing.empty() && drawing.back().columns() == 0) drawing.pop_back();
    return drawing;
  }

 private:
  absl::Status TakeLists(Lists lists) {
    if (!lists.status.ok()) {
      if (MonotonicNow() - answered_ > kPatience || !IsRetriable(lists.status)) return lists.status;
      state_.trouble =
          absl::StrCat("no answer from the coordinator for ", FormatDuration(MonotonicNow() - answered_));
      return absl::OkStatus();
    }
    state_.trouble = session_.notice();
    answered_ = MonotonicNow();
    workers_ = std::move(lists.workers);
    more_ = 0;
    order_.clear();
    for (const v1::SweepStatus& sweep : lists.sweeps.sweeps()) {
      if (order_.size() == kSweepsFollowed) {
        ++more_;
        continue;
      }
      order_.push_back(sweep.sweep_id());
      RETURN_IF_ERROR(Follow(sweep.sweep_id()));
    }
    std::erase_if(followed_, [this](const auto& entry) {
      return std::ranges::find(order_, entry.first) == order_.end();
    });
    return absl::OkStatus();
  }

  absl::Status Follow(const std::string& sweep) {
    if (followed_.contains(sweep)) return absl::OkStatus();
    ASSIGN_OR_RETURN(std::vector<std::string> axes, AxesOfSweep(session_, sweep));
    followed_.emplace(sweep, Followed{SweepModel(std::move(axes)),
                                      std::make_unique<SweepFollower>(session_, sweep, 0, kPatience)});
    return absl::OkStatus();
  }

  absl::Status TakeUpdates() {
    for (auto& [id, followed] : followed_) {
      while (true) {
        ASSIGN_OR_RETURN(const std::optional<v1::SweepUpdate> update,
                         followed.follower->Next(Duration::zero()));
        if (!update) break;
        followed.model.Take(*update, MonotonicNow());
      }
    }
    return absl::OkStatus();
  }

  TopModel Model() const {
    TopModel top{.address = session_.Address(), .sweeps = {}, .more_sweeps = more_, .workers = workers_};
    for (const std::string& sweep : order_) {
      if (const auto found = followed_.find(sweep); found != followed_.end() && found->second.model.known())
        top.sweeps.push_back(&found->second.model);
    }
    return top;
  }

  void Draw(Screen& screen) {
    if (state_.help) return screen.Show(DrawHelp(/*top=*/true, screen.size()));
    const auto count = static_cast<int>(order_.size());
    state_.selected = std::clamp(state_.selected, 0, std::max(0, count - 1));
    screen.Show(DrawTop(Model(), state_, PresentTime(), screen.size()));
  }

  // True: the user leaves.
  absl::StatusOr<bool> OnKey(Screen& screen, Key key) {
    if (key == Key::kNone || key == Key::kResized || key == Key::kRedraw) return false;
    if (state_.help) {
      state_.help = false;
      return false;
    }
    switch (key) {
      case Key::kQuit:
      case Key::kHangUp:
        return true;
      case Key::kUp:
      case Key::kDown:
        state_.selected += key == Key::kUp ? -1 : 1;
        return false;
      case Key::kHelp:
        state_.help = true;
        return false;
      case Key::kEnter: {
        if (order_.empty()) return false;
        Followed& chosen = followed_.at(order_[static_cast<std::size_t>(state_.selected)]);
        ASSIGN_OR_RETURN(const SweepAppEnd end,
                         RunSweepApp(session_, screen, *chosen.follower, chosen.model, true));
        return end == SweepAppEnd::kQuit;
      }
      default:
        return false;
    }
  }

  Session& session_;
  ViewState state_;
  std::vector<std::string> order_;
  std::size_t more_ = 0;
  std::map<std::string, Followed> followed_;
  v1::ListWorkersResponse workers_;
  Timestamp listed_;
  Timestamp answered_ = MonotonicNow();
  std::future<Lists> lists_call_;
};

}  // namespace

absl::Status RunTopApp(Session& session, Screen& screen) { return TopApp(session).Run(screen); }

absl::StatusOr<Drawing> TopOnce(Session& session, int columns) { return TopApp(session).Once(columns); }

}  // namespace inlier
