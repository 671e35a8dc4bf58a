// Names only; ../context.h has the reason for this file.
#ifndef INLIER_CORE_GANG_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_
#define INLIER_CORE_GANG_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_

namespace gloo::transport {

class Device;
class UnboundBuffer;

}  // namespace gloo::transport

#endif  // INLIER_CORE_GANG_DECLARATIONS_GLOO_TRANSPORT_DEVICE_H_
