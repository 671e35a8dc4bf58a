// Keeps gRPC's threads for callbacks looking for work.
//
// Each of them (two or more a process) waits a second for an event and sleeps for 100 ms when none came. In a
// process that has been idle they do so together, and what arrives meanwhile waits for them: a submission to
// an idle coordinator took up to 90 ms (`bench/dispatch/compare` shows it as "after pauses"). An event every
// 400 ms, here the end of a call that goes nowhere, leaves at least one of them awake at any time.
//
// Thread safety: any thread, not one of gRPC's own.
#ifndef INLIER_BASE_SERVICE_AWAKE_POLLERS_H_
#define INLIER_BASE_SERVICE_AWAKE_POLLERS_H_

#include <cstdint>
#include <memory>

namespace inlier {

class AwakePollers {
 public:
  // The process's own: all who hold it share one, which ends with the last of them.
  static std::shared_ptr<AwakePollers> Get();

  AwakePollers();
  ~AwakePollers();
  AwakePollers(const AwakePollers&) = delete;
  AwakePollers& operator=(const AwakePollers&) = delete;

  // Events so far.
  std::uint64_t events() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_BASE_SERVICE_AWAKE_POLLERS_H_
