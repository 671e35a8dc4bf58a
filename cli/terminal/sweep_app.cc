#include "cli/terminal/sweep_app.h"

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/interrupt.h"
#include "cli/sweeps/sweep_text.h"
#include "cli/sweeps/sweep_watch.h"
#include "cli/terminal/trial_page.h"
#include "cli/terminal/views.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

constexpr Duration kSweepFrame = std::chrono::milliseconds(100);
constexpr Duration kPageEvery = std::chrono::seconds(2);
constexpr Duration kMessageFor = std::chrono::seconds(8);
constexpr int kUpdatesAFrame = 20;
constexpr int kPageRows = 10;

// A text for the last line.
absl::StatusOr<std::string> PauseOrResume(Session& session, const std::string& sweep, bool pause) {
  if (pause) {
    v1::PauseSweepRequest request;
    request.set_sweep(sweep);
    ASSIGN_OR_RETURN(const v1::PauseSweepResponse paused,
                     session.CallOnce(&SweepStub::PauseSweep, request, 10));
    return absl::StrCat(sweep, " is paused; ", paused.running(), " attempts run to completion");
  }
  v1::ResumeSweepRequest request;
  request.set_sweep(sweep);
  RETURN_IF_ERROR(session.CallOnce(&SweepStub::ResumeSweep, request, 10).status());
  return absl::StrCat(sweep, " is resumed");
}

template <typename Value>
std::optional<Value> Take(std::future<Value>& future) {
  if (!future.valid() || future.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  return future.get();
}

class SweepApp {
 public:
  SweepApp(Session& session, Screen& screen, SweepFollower& follower, SweepModel& model, bool may_go_back)
      : session_(session), screen_(screen), follower_(follower), model_(model), may_go_back_(may_go_back) {}

  absl::StatusOr<SweepAppEnd> Run() {
    while (true) {
      if (Interrupted()) return InterruptedWatch(model_.status().sweep_id());
      RETURN_IF_ERROR(TakeNews());
      if (follower_.over() && !may_go_back_) return SweepAppEnd::kOver;
      Draw();
      if (const std::optional<SweepAppEnd> end = OnKey(screen_.NextKey(kSweepFrame))) return *end;
    }
  }

 private:
  ViewState& state() { return page_ ? trial_state_ : sweep_state_; }

  absl::Status TakeNews() {
    for (int i = 0; i < kUpdatesAFrame; ++i) {
      ASSIGN_OR_RETURN(const std::optional<v1::SweepUpdate> update, follower_.Next(Duration::zero()));
      if (!update) break;
      model_.Take(*update, MonotonicNow());
    }
    const std::optional<Duration> silence = follower_.Silence();
    const std::string trouble = silence ? absl::StrCat("no answer from the coordinator for ",
                                                       FormatDuration(*silence), "; trying again")
                                        : "";
    sweep_state_.trouble = trial_state_.trouble = trouble;
    if (const auto result = Take(change_)) {
      state().message = result->ok() ? **result : std::string(result->status().message());
      state().message_is_error = !result->ok();
      message_until_ = MonotonicNow() + kMessageFor;
    }
    if (MonotonicNow() > message_until_) sweep_state_.message = trial_state_.message = "";
    if (std::optional<TrialPage> fetched = Take(fetch_); fetched && page_ && fetched->trial == page_->trial) {
      fetched->labels = page_->labels;
      page_ = std::move(fetched);
    }
    if (page_ && !fetch_.valid() && MonotonicNow() - fetched_ >= kPageEvery) Fetch();
    KeepChosen();
    return absl::OkStatus();
  }

  void Fetch() {
    fetched_ = MonotonicNow();
    fetch_ = std::async(std::launch::async,
                        [this, trial = page_->trial] { return FetchTrialPage(session_, trial); });
  }

  // The chosen row stays on its attempt while other rows come and go.
  void KeepChosen() {
    const auto& running = model_.latest().running();
    const auto chosen = std::ranges::find_if(
        running, [this](const v1::RunningAttempt& attempt) { return attempt.stage_id() == chosen_stage_; });
    if (chosen != running.end()) {
      sweep_state_.selected = static_cast<int>(chosen - running.begin());
    } else {
      Choose(sweep_state_.selected);
    }
  }
  void Choose(int row) {
    const auto& running = model_.latest().running();
    sweep_state_.selected = std::clamp(row, 0, std::max(0, running.size() - 1));
    chosen_stage_ = running.empty() ? "" : running[sweep_state_.selected].stage_id();
  }

  void Draw() {
    const ViewTime time = PresentTime();
    if (state().help) return screen_.Show(DrawHelp(/*top=*/false, screen_.size()));
    if (!page_) return screen_.Show(DrawSweep(model_, sweep_state_, time, screen_.size()));
    const auto& running = model_.latest().running();
    const auto attempt = std::ranges::find_if(
        running, [this](const v1::RunningAttempt& one) { return one.trial_id() == page_->trial; });
    screen_.Show(DrawTrial(*page_, model_, attempt == running.end() ? nullptr : &*attempt, trial_state_, time,
                           screen_.size()));
  }

  void OpenTrial() {
    const auto& running = model_.latest().running();
    if (page_ || running.empty()) return;
    const v1::RunningAttempt& attempt = running[sweep_state_.selected];
    page_ = TrialPage{.trial = attempt.trial_id(), .labels = LabelsText(attempt.labels(), model_.axes())};
    trial_state_ = ViewState();
    if (!fetch_.valid()) Fetch();
  }

  void AskPause() {
    const v1::SweepStatus& status = model_.status();
    if (page_ || change_.valid() || status.state() != v1::ACTIVE || !model_.known()) return;
    pauses_ = !status.paused();
    sweep_state_.question = absl::StrCat(pauses_ ? "Pause " : "Resume ", status.sweep_id(),
                                         pauses_ ? "? Running attempts continue. [y/N] " : "? [y/N] ");
  }

  void Answer(Key key) {
    sweep_state_.question.clear();
    if (key != Key::kYes) return;
    change_ = std::async(std::launch::async, [this, sweep = model_.status().sweep_id(), pause = pauses_] {
      return PauseOrResume(session_, sweep, pause);
    });
  }

  void Move(int rows) {
    if (page_) {
      trial_state_.first_line = std::max(0, trial_state_.first_line + rows);
    } else {
      Choose(sweep_state_.selected + rows);
    }
  }

  std::optional<SweepAppEnd> OnKey(Key key) {
    if (key == Key::kNone || key == Key::kResized || key == Key::kRedraw) return std::nullopt;
    if (key == Key::kHangUp) return SweepAppEnd::kQuit;
    if (state().help) {
      state().help = false;
      return std::nullopt;
    }
    if (!state().question.empty()) {
      Answer(key);
      return std::nullopt;
    }
    switch (key) {
      case Key::kQuit:
        return SweepAppEnd::kQuit;
      case Key::kBack:
        if (!page_ && may_go_back_) return SweepAppEnd::kBack;
        page_.reset();
        break;
      case Key::kUp:
      case Key::kDown:
        Move(key == Key::kUp ? -1 : 1);
        break;
      case Key::kPageUp:
      case Key::kPageDown:
        Move(key == Key::kPageUp ? -kPageRows : kPageRows);
        break;
      case Key::kEnter:
        OpenTrial();
        break;
      case Key::kPause:
        AskPause();
        break;
      case Key::kHelp:
        state().help = true;
        break;
      default:
        break;
    }
    return std::nullopt;
  }

  Session& session_;
  Screen& screen_;
  SweepFollower& follower_;
  SweepModel& model_;
  const bool may_go_back_;
  ViewState sweep_state_, trial_state_;
  std::optional<TrialPage> page_;  // The view is of a trial.
  std::string chosen_stage_;
  bool pauses_ = false;  // The question is about a pause, not about its end.
  Timestamp fetched_, message_until_;
  std::future<absl::StatusOr<std::string>> change_;
  std::future<TrialPage> fetch_;
};

}  // namespace

absl::StatusOr<SweepAppEnd> RunSweepApp(Session& session, Screen& screen, SweepFollower& follower,
                                        SweepModel& model, bool may_go_back) {
  return SweepApp(session, screen, follower, model, may_go_back).Run();
}

}  // namespace inlier
