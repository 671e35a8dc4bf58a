// The view of a running sweep: on a terminal a few lines redrawn in place (bar, rate, time left, running
// attempts with their loss); elsewhere a plain line at each relevant change.
//
// Pure: updates and times are inputs, the text is the output. The caller writes it as it is: names, labels and
// messages in it are Shown (output.h), its control sequences are the view's own.
#ifndef INLIER_CLI_WATCH_VIEW_H_
#define INLIER_CLI_WATCH_VIEW_H_

#include <string>
#include <vector>

#include "base/time.h"
#include "cli/notices.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

class WatchView {
 public:
  // `width` in columns; `terminal`: redraw in place with control sequences, and unicode bars. `axes`: the order of
  // the labels.
  WatchView(int width, bool terminal, std::vector<std::string> axes = {})
      : width_(width), terminal_(terminal), axes_(std::move(axes)) {}

  // The terminal has that many columns now; before Show.
  void Resize(int width) { width_ = width; }

  // The text for `update` (empty: nothing to write).
  std::string Show(const v1::SweepUpdate& update, Timestamp now);

 private:
  std::string Frame(const v1::SweepUpdate& update, Timestamp now);
  std::string Line(const v1::SweepUpdate& update, Timestamp now);
  // Removes the last frame, whose lines may have wrapped since in a narrower terminal.
  std::string Erase();

  int width_;
  bool terminal_;
  std::vector<std::string> axes_;
  Notices notices_;                 // Terminal: those that are part of the frame.
  std::vector<int> columns_shown_;  // Of each line of the last frame.
  bool started_ = false;
  Timestamp first_;
  Timestamp last_line_;
  double last_done_ = -1;
};

// "37/48 trials", with the numbers of failed, diverged and cancelled ones if there are any.
std::string DescribeTrials(const v1::TrialCounts& counts);

// "complete", or "ended: 3 of 56 failed" after failures. REQUIRES: its state is COMPLETE.
std::string DescribeEnd(const v1::TrialCounts& counts);

uint64_t TotalTrials(const v1::TrialCounts& counts);
uint64_t EndedTrials(const v1::TrialCounts& counts);

}  // namespace inlier

#endif  // INLIER_CLI_WATCH_VIEW_H_
