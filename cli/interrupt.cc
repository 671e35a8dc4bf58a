#include "cli/interrupt.h"

#include <signal.h>

namespace inlier {
namespace {

volatile sig_atomic_t interrupted = 0;

void OnSignal(int signal_number) {
  interrupted = 1;
  // The next signal of the same kind has its default effect.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() { return interrupted != 0; }

}  // namespace inlier
