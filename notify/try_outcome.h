// One try to deliver a notification.
#ifndef INLIER_NOTIFY_TRY_OUTCOME_H_
#define INLIER_NOTIFY_TRY_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace inlier {

struct TryOutcome {
  enum class Kind {
    kTaken,
    kRefused,  // The receiver answered, and does not take this one: others may go before it.
    kFailed,   // The receiver cannot take any now.
    kGivenUp,  // It is not tried again.
  };
  Kind kind = Kind::kFailed;
  std::string error{};  // Why it was not taken; one line, without the path of a URL.
};

// Sent to a receiver.
struct Notification {
  std::uint64_t number = 0;
  WallTime at{};  // Of the event.
  std::string event{};
  std::string body{};  // JSON.
};

// A try ends early when it is true; asked at least 20 times a second.
using MustStop = std::function<bool()>;

}  // namespace inlier

#endif  // INLIER_NOTIFY_TRY_OUTCOME_H_
