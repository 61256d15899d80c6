#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/certs/certificate_authority.h"
#include "cli/failure.h"
#include "core/config/tls.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two authorities, each with a certificate for "north"; what is said about files that do not belong together.
class ClientTlsTest : public ::testing::Test {
 protected:
  ClientTlsTest() {
    std::filesystem::remove_all(folder_);
    for (const char* authority : {"a", "b"}) {
      const auto opened = CertificateAuthority::Open(Path(authority));
      if (!opened.ok() || !opened->Issue({"north"}).ok()) throw std::runtime_error("no authority");
    }
    WriteOutput(Path("text"), "no certificate\n").IgnoreError();
  }
  ~ClientTlsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string FaultOf(const std::string& certificate, const std::string& key, const std::string& ca) const {
    return std::string(config::LoadTls({Path(certificate), Path(key), Path(ca)}).status().message());
  }

  const std::string folder_ = OwnFolder() + "client_tls_test";
};

TEST_F(ClientTlsTest, TakesFilesThatBelongTogether) {
  EXPECT_EQ(FaultOf("a/north.pem", "a/north.key", "a/ca.pem"), "");
}

TEST_F(ClientTlsTest, NamesTheFileThatIsNoPemCertificate) {
  EXPECT_THAT(FaultOf("text", "a/north.key", "a/ca.pem"),
              AllOf(StartsWith(Path("text: is not a PEM certificate")), HasSubstr("BEGIN CERTIFICATE")));
  EXPECT_THAT(FaultOf("a/north.pem", "a/north.key", "a/north.key"),
              StartsWith(Path("a/north.key: is not a PEM certificate")));
  EXPECT_THAT(FaultOf("a/north.pem", "text", "a/ca.pem"),
              StartsWith(Path("text: is not an unencrypted PEM key")));
}

TEST_F(ClientTlsTest, NamesAKeyOfAnotherCertificate) {
  EXPECT_THAT(FaultOf("a/north.pem", "b/north.key", "a/ca.pem"),
              AllOf(StartsWith(Path("b/north.key: is not the key of the certificate ")),
                    HasSubstr(Path("a/north.pem; give"))));
}

TEST_F(ClientTlsTest, NamesACaThatDidNotSign) {
  EXPECT_THAT(FaultOf("a/north.pem", "a/north.key", "b/ca.pem"),
              AllOf(HasSubstr("the CA in " + Path("b/ca.pem") + " did not sign it"),
                    HasSubstr("give the ca.pem that was made together with it")));
}

}  // namespace
}  // namespace tributary::cli
