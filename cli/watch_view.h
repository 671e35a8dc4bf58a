// The view of a running sweep: on a terminal a few lines redrawn in place (bar, rate, time left, running
// attempts with their loss); elsewhere a plain line at each relevant change.
//
// Pure: updates and times are inputs, the text is the output. The caller writes it as it is: names, labels and
// messages in it are Shown (output.h), its control sequences are the view's own.
#ifndef INLIER_CLI_WATCH_VIEW_H_
#define INLIER_CLI_WATCH_VIEW_H_

#include <string>

#include "base/time.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

class WatchView {
 public:
  // `width` in columns; `terminal`: redraw in place with control sequences, and unicode bars.
  WatchView(int width, bool terminal) : width_(width), terminal_(terminal) {}

  // The text for `update` (empty: nothing to write).
  std::string Show(const v1::SweepUpdate& update, Timestamp now);

 private:
  std::string Frame(const v1::SweepUpdate& update, Timestamp now);
  std::string Line(const v1::SweepUpdate& update, Timestamp now);

  int width_;
  bool terminal_;
  int lines_shown_ = 0;
  bool started_ = false;
  Timestamp first_;
  Timestamp last_line_;
  double last_done_ = -1;
};

// "37/48 trials", with the numbers of failed, diverged and cancelled ones if there are any.
std::string DescribeTrials(const v1::TrialCounts& counts);

uint64_t TotalTrials(const v1::TrialCounts& counts);
uint64_t EndedTrials(const v1::TrialCounts& counts);

}  // namespace inlier

#endif  // INLIER_CLI_WATCH_VIEW_H_
