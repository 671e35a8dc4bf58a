// Certificates and keys in PEM files, checked before use. Errors name the field, the file and the remedy.
#ifndef INLIER_RPC_PEM_FILES_H_
#define INLIER_RPC_PEM_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace inlier {

struct KeyPair {
  std::string certificate, key;  // PEM.
};

// InvalidArgument, of the fields tls_certificate and tls_key, for one without the other; a file that is missing, is not
// PEM or has expired; a key that is not the certificate's, or that every user may read, unless `insecure`.
absl::StatusOr<KeyPair> LoadKeyPair(const std::string& certificate, const std::string& key, bool insecure);

// The certificates of authorities in `file`.
absl::StatusOr<std::string> LoadAuthorities(const std::string& field, const std::string& file);

}  // namespace inlier

#endif  // INLIER_RPC_PEM_FILES_H_
