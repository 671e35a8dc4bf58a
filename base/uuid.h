// Random identifiers: incarnations of workers, request ids of clients.
#ifndef INLIER_BASE_UUID_H_
#define INLIER_BASE_UUID_H_

#include <string>

namespace inlier {

// A version 4 uuid from the system's random source, "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".
std::string RandomUuid();

}  // namespace inlier

#endif  // INLIER_BASE_UUID_H_
