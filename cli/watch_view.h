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
#include "cli/terminal/sweep_model.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

class WatchView {
 public:
  // `width` in columns; `terminal`: redraw in place with control sequences. `axes`: the order of the labels.
  WatchView(int width, bool terminal, std::vector<std::string> axes = {})
      : width_(width), terminal_(terminal), model_(std::move(axes)) {}

  // The terminal has that many columns now; before Show.
  void Resize(int width) { width_ = width; }

  // The text for `update` (empty: nothing to write).
  std::string Show(const v1::SweepUpdate& update, Timestamp now);
  // The text while nothing new comes: on a terminal the frame again, after Show.
  std::string Redraw(Timestamp now);

 private:
  std::string Frame(const v1::SweepUpdate& update, Timestamp now);
  std::string Line(const v1::SweepUpdate& update, Timestamp now);
  // At the end of plain lines, where failures have several reasons.
  std::string FailuresByReason();
  // Removes the last frame, whose lines may have wrapped since in a narrower terminal.
  std::string Erase();
  std::string Took(const v1::SweepStatus& status, Timestamp now) const;

  int width_;
  bool terminal_;
  SweepModel model_;
  Notices notices_;                 // Terminal: those that are part of the frame.
  std::vector<int> columns_shown_;  // Of each line of the last frame.
  bool started_ = false;
  bool summed_up_ = false;
  Timestamp first_;
  Timestamp last_line_;
  double last_done_ = -1;
};

}  // namespace inlier

#endif  // INLIER_CLI_WATCH_VIEW_H_
