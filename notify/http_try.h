// A notification as a POST to a webhook.
#ifndef INLIER_NOTIFY_HTTP_TRY_H_
#define INLIER_NOTIFY_HTTP_TRY_H_

#include "inlier/v1/config.pb.h"
#include "notify/try_outcome.h"

namespace inlier {

// Taken with an answer 2xx. Redirects are not followed; of the answer only the head is read, at most 8 KiB. The certificate
// of an https receiver is checked, and that it is for the host of the URL. Everything, the look-up of the host too, ends
// within hook.timeout_seconds. The secret and the authority are read at each try. REQUIRES: the hook has passed CheckHooks.
TryOutcome PostNotification(const v1::HookConfig& hook, bool insecure, const Notification& notification,
                            const MustStop& must_stop);

}  // namespace inlier

#endif  // INLIER_NOTIFY_HTTP_TRY_H_
