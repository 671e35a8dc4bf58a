// RAII and options for callers of libcurl. Header only: its users link CURL::libcurl.
#ifndef INLIER_RPC_CURL_H_
#define INLIER_RPC_CURL_H_

#include <curl/curl.h>

#include <memory>
#include <string>

#include "base/check.h"

namespace inlier {

template <auto kFree>
struct CurlDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using CurlEasy = std::unique_ptr<CURL, CurlDelete<curl_easy_cleanup>>;
using CurlMulti = std::unique_ptr<CURLM, CurlDelete<curl_multi_cleanup>>;
using CurlHeaders = std::unique_ptr<curl_slist, CurlDelete<curl_slist_free_all>>;

inline void AddCurlHeader(CurlHeaders& headers, const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  INLIER_CHECK(longer != nullptr);
  static_cast<void>(headers.release());
  headers.reset(longer);
}

template <typename Value>
void SetCurlOption(CURL* handle, CURLoption option, Value value) {
  INLIER_CHECK(curl_easy_setopt(handle, option, value) == CURLE_OK);
}

}  // namespace inlier

#endif  // INLIER_RPC_CURL_H_
