// One try to deliver a notification, by a command or to a webhook.
#ifndef INLIER_NOTIFY_TRY_OUTCOME_H_
#define INLIER_NOTIFY_TRY_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "inlier/v1/config.pb.h"

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

// Runs the program, without a shell, in a process group of its own and in the folder "/": the body on its standard input; of
// the environment PATH, HOME and LANG, and INLIER_EVENT and INLIER_DELIVERY. Taken with exit status 0. The group is killed
// after hook.timeout_seconds. `output`: the last lines that it wrote. The program is checked (CheckProgram) at each try.
TryOutcome RunCommand(const v1::HookConfig& hook, const Notification& notification, const MustStop& must_stop,
                      std::string& output);

// Posts the body to a webhook. Taken with an answer 2xx. Redirects are not followed; of the answer only the head is read, at
// most 8 KiB. The certificate of an https receiver is checked, and that it is for the host of the URL. All ends, the look-up
// of the host too, within hook.timeout_seconds. The secret and the authority are read at each try. REQUIRES: CheckHooks.
TryOutcome PostNotification(const v1::HookConfig& hook, bool insecure, const Notification& notification,
                            const MustStop& must_stop);

}  // namespace inlier

#endif  // INLIER_NOTIFY_TRY_OUTCOME_H_
