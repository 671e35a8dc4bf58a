// The whole terminal, as ncurses drives it: a drawing in, keys out.
//
// The destructor restores the terminal, and so does a signal that ends the process and can be caught. One screen at a
// time, on one thread.
#ifndef INLIER_CLI_TERMINAL_SCREEN_H_
#define INLIER_CLI_TERMINAL_SCREEN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "cli/terminal/styled_text.h"

namespace inlier {

enum class Key {
  kNone,  // The time has passed, or the key has no use.
  kQuit,
  kBack,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kEnter,
  kPause,
  kHelp,
  kYes,
  kRedraw,
  kResized,
  kOther,
  kHangUp,  // No terminal any more.
};

class Screen {
 public:
  // True when both streams are a terminal that can show a screen, of at least 40 columns and 8 rows.
  static bool IsUsable();

  // FailedPrecondition: ncurses does not know the terminal (TERM). Without colours where NO_COLOR is set.
  static absl::StatusOr<std::unique_ptr<Screen>> Open();
  ~Screen();  // Gives the terminal back.

  ScreenSize size() const;
  void Show(const Drawing& drawing);
  // The next key, waiting at most `wait`.
  Key NextKey(Duration wait);

 private:
  Screen() = default;

  bool colours_ = false;
};

}  // namespace inlier

#endif  // INLIER_CLI_TERMINAL_SCREEN_H_
