#include "core/config/revocation_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/config/pem.h"

namespace tributary::config {
namespace {

using ::testing::HasSubstr;

// What hostile files hold. Lists of real authorities: cli/certs.
TEST(RevocationListTest, RefusesWhatIsNoList) {
  const std::string torn = "-----BEGIN X509 CRL-----\nMIIB";
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(1000, '\0'), torn, torn + "\n-----END X509 CRL-----\n",
        std::string("-----BEGIN X509 CRL-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n"
                    "-----END X509 CRL-----\n"),
        std::string("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}) {
    const auto list = RevocationList::Parse(text, "");
    EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(list.status().message()), HasSubstr("tributary certs revoke"));
  }
}

TEST(RevocationListTest, RefusesAFileOfAnySize) {
  const auto list = RevocationList::Parse(std::string(kMostPemBytes + 1, '\n'), "");
  EXPECT_THAT(std::string(list.status().message()), HasSubstr("is larger than 1048576 bytes"));
}

TEST(RevocationListTest, AnEmptyOneHoldsNobody) {
  const RevocationList none;
  EXPECT_FALSE(none.Lists("x"));
  EXPECT_TRUE(none.MayReplace(none).ok());
}

TEST(CertificateIdTest, IsOfACertificateOnly) {
  EXPECT_FALSE(CertificateIdOf("").ok());
  EXPECT_FALSE(CertificateIdOf("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").ok());
}

}  // namespace
}  // namespace tributary::config
