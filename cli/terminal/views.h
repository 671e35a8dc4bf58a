// The full-screen views: pure functions from a model to a drawing of exactly the size of the screen.
#ifndef INLIER_CLI_TERMINAL_VIEWS_H_
#define INLIER_CLI_TERMINAL_VIEWS_H_

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/terminal/styled_text.h"
#include "cli/terminal/sweep_model.h"

namespace inlier {

// The user's choices, and texts for the last line in place of the keys.
struct ViewState {
  int selected = 0;      // Row.
  int first_line = 0;    // Of a text that scrolls.
  bool help = false;     // The keys, in place of the view.
  std::string question;  // "Pause s-1? [y/N]"
  std::string message;   // Result of the last key.
  bool message_is_error = false;
  std::string trouble;  // Why nothing new comes: "no answer from the coordinator for 12 s".
};

// The present; `now` measures the time left.
struct ViewTime {
  Timestamp now;
  std::string clock;  // "12:41:07"
  WallTime wall;
};

ViewTime PresentTime();

// One sweep: bar and counts, failures, running attempts, notices.
Drawing DrawSweep(const SweepModel& sweep, const ViewState& state, const ViewTime& time, ScreenSize size);

// One trial, as lines that scroll.
struct TrialPage {
  std::string trial;
  std::string labels;
  bool loaded = false;
  std::vector<std::string> explanation;  // Lines of `inlier why`.
  std::vector<std::string> log;          // The newest lines.
};
// `attempt`: of the trial, when one runs.
Drawing DrawTrial(const TrialPage& page, const SweepModel& sweep, const v1::RunningAttempt* attempt,
                  ViewState& state, const ViewTime& time, ScreenSize size);

// All active sweeps, and the workers.
struct TopModel {
  std::string address;
  std::vector<const SweepModel*> sweeps;
  std::size_t more_sweeps = 0;  // Active, and not followed.
  v1::ListWorkersResponse workers;
};
Drawing DrawTop(const TopModel& top, const ViewState& state, const ViewTime& time, ScreenSize size);

Drawing DrawHelp(bool top, ScreenSize size);

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_VIEWS_H_
