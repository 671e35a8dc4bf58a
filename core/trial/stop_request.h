// The request that an attempt ends, from a signal, and the rule that it ends in time.
//
// A training ends by itself, after the micro-batch that it is in, because it has a checkpoint to write. All
// other work (reading, digests, tokens, calibration, evaluation) has nothing to save: where it has not ended
// by itself half a second after the request, the process ends in the middle of it, with the outcome as its
// last event. So no phase has to check the request in its loops to end within a second.
//
// Thread safety: safe.
#ifndef INLIER_CORE_TRIAL_STOP_REQUEST_H_
#define INLIER_CORE_TRIAL_STOP_REQUEST_H_

#include <atomic>
#include <functional>

namespace inlier {

class StopRequest {
 public:
  bool asked() const { return asked_; }
  void Ask() { asked_ = true; }

  // While one exists, the work ends by itself.
  class Saving {
   public:
    explicit Saving(StopRequest& stop) : stop_(stop) { ++stop_.saving_; }
    ~Saving() { --stop_.saving_; }
    Saving(const Saving&) = delete;
    Saving& operator=(const Saving&) = delete;

   private:
    StopRequest& stop_;
  };
  bool saving() const { return saving_ > 0; }

 private:
  std::atomic<bool> asked_ = false;
  std::atomic<int> saving_ = 0;
};

// Takes SIGTERM and SIGINT for the rest of the process' life: sets `stop`, and calls `end_now`, on a thread
// of its own, when the process has not ended in time; it must not return. Both live as long as the process.
// Call once.
void EndOnSignals(StopRequest& stop, std::function<void()> end_now);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_STOP_REQUEST_H_
