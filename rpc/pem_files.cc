#include "rpc/pem_files.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "rpc/private_file.h"

namespace inlier {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

absl::Status Wrong(const std::string& field, const std::string& file, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", file, " ", what));
}

absl::StatusOr<std::string> ReadPem(const std::string& field, const std::string& file) {
  constexpr std::size_t kPemBytesMax = 1 << 20;
  absl::StatusOr<std::string> text = ReadSmallFile(file, kPemBytesMax);
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", std::string(text.status().message()),
                                                 "; name a PEM file that this user may read"));
}

std::string TimeText(const ASN1_TIME* time) {
  const Bio out(BIO_new(BIO_s_mem()), &BIO_free);
  ASN1_TIME_print(out.get(), time);
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  return std::string(text, length > 0 ? static_cast<std::size_t>(length) : 0);
}

Bio Reading(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
}

// The first certificate of the file, valid now.
absl::StatusOr<Certificate> CheckCertificate(const std::string& field, const std::string& file,
                                             const std::string& pem) {
  const Bio in = Reading(pem);
  Certificate certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), &X509_free);
  if (certificate == nullptr)
    return Wrong(field, file, "holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  const ASN1_TIME* end = X509_get0_notAfter(certificate.get());
  if (X509_cmp_current_time(end) < 0)
    return Wrong(field, file, absl::StrCat("expired on ", TimeText(end), "; have a new one issued"));
  const ASN1_TIME* begin = X509_get0_notBefore(certificate.get());
  if (X509_cmp_current_time(begin) > 0)
    return Wrong(field, file,
                 absl::StrCat("is valid only from ", TimeText(begin), "; check this machine's clock"));
  return certificate;
}

absl::Status CheckPair(const std::string& certificate_file, const std::string& certificate_pem,
                       const std::string& key_file, const std::string& key_pem) {
  ASSIGN_OR_RETURN(const Certificate certificate,
                   CheckCertificate("tls_certificate", certificate_file, certificate_pem));
  const Bio in = Reading(key_pem);
  const Key key(PEM_read_bio_PrivateKey(
                    in.get(), nullptr, [](char*, int, int, void*) { return 0; }, nullptr),
                &EVP_PKEY_free);
  if (key == nullptr)
    return Wrong("tls_key", key_file,
                 "holds no private key in PEM form, or one with a passphrase; name one without");
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Wrong("tls_key", key_file, absl::StrCat("is not the key of ", certificate_file));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KeyPair> LoadKeyPair(const std::string& certificate, const std::string& key, bool insecure) {
  if (key.empty()) return absl::InvalidArgumentError("tls_certificate is set without tls_key; set both");
  if (certificate.empty())
    return absl::InvalidArgumentError("tls_key is set without tls_certificate; set both");
  if (!insecure) RETURN_IF_ERROR(CheckPrivate("tls_key", key));
  KeyPair pair;
  ASSIGN_OR_RETURN(pair.certificate, ReadPem("tls_certificate", certificate));
  ASSIGN_OR_RETURN(pair.key, ReadPem("tls_key", key));
  RETURN_IF_ERROR(CheckPair(certificate, pair.certificate, key, pair.key));
  return pair;
}

absl::StatusOr<std::string> LoadAuthorities(const std::string& field, const std::string& file) {
  ASSIGN_OR_RETURN(std::string pem, ReadPem(field, file));
  RETURN_IF_ERROR(CheckCertificate(field, file, pem).status());
  return pem;
}

}  // namespace inlier
