// A certificate authority and what it signs, made by the `openssl` program in a folder of the test's own.
#ifndef INLIER_TESTS_SUPPORT_CERTIFICATES_H_
#define INLIER_TESTS_SUPPORT_CERTIFICATES_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace inlier {

class Certificates {
 public:
  // NAME.pem and NAME.key of the authority.
  Certificates(std::filesystem::path folder, const std::string& authority)
      : folder_(std::move(folder)), authority_(authority) {
    std::ofstream(folder_ / "names") << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
    Run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + authority +
        ".key -out " + authority + ".pem -days 2 -subj /CN=" + authority);
  }

  // NAME.pem and NAME.key, signed by the authority and good for this machine's loopback. `days` -1: expired.
  void Issue(const std::string& name, int days = 2) const {
    Run("req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout " + name + ".key -out " + name +
        ".csr -subj /CN=" + name);
    Run("x509 -req -in " + name + ".csr -CA " + authority_ + ".pem -CAkey " + authority_ +
        ".key -CAcreateserial -out " + name + ".pem -days " + std::to_string(days) + " -extfile names");
  }

  std::string Pem(const std::string& name) const { return (folder_ / (name + ".pem")).string(); }
  std::string Key(const std::string& name) const { return (folder_ / (name + ".key")).string(); }

 private:
  void Run(const std::string& arguments) const {
    const std::string command =
        "cd '" + folder_.string() + "' && openssl " + arguments + " >> openssl.log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  const std::filesystem::path folder_;
  const std::string authority_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_CERTIFICATES_H_
