#include "cli/join/held_certificates.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>

#include "cli/certs/certificate_authority.h"
#include "core/certificates/new_certificate.h"
#include "core/config/pem.h"
#include "core/runtime/file.h"
#include "tests/support/odd_certificate.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

class HeldCertificatesTest : public ::testing::Test {
 protected:
  ~HeldCertificatesTest() override { std::filesystem::remove_all(folder_); }

  std::string Text(const std::string& file) const {
    return runtime::ReadFile(folder_ + "/" + file).value_or("");
  }
  std::string HashOfAuthority() const {
    return certificates::Fingerprint(*config::CertificatesIn(Text("ca.pem")).front());
  }
  std::vector<HeldCertificate> Held() const { return HeldCertificates(folder_, HashOfAuthority()); }

  const std::string folder_ = OwnFolder() + "held_certificates";
  const CertificateAuthority authority_ = CertificateAuthority::Open(folder_).value();
};

TEST_F(HeldCertificatesTest, AreThoseWithTheirKeyByNameWithTheirUseAndAuthority) {
  ASSERT_TRUE(authority_.Issue({"south"}).ok());
  ASSERT_TRUE(authority_.Issue({"hub", CertificateUse::kServer}).ok());
  ASSERT_TRUE(authority_.Issue({"lost"}).ok());
  std::filesystem::remove(folder_ + "/lost.key");
  const auto held = Held();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].name, "hub");
  EXPECT_FALSE(held[0].client);
  EXPECT_EQ(held[1].name, "south");
  EXPECT_TRUE(held[1].client && held[1].of_authority);
  EXPECT_GT(held[1].expires_unix_s, time(nullptr));
  EXPECT_FALSE(HeldCertificates(folder_, std::string(64, '0'))[1].of_authority);
  EXPECT_TRUE(HeldCertificates(folder_ + "/none", HashOfAuthority()).empty());
}

TEST_F(HeldCertificatesTest, OneThatHasExpiredIsNone) {
  ASSERT_TRUE(authority_.Issue({"south"}).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/south.pem",
                                           ExpiredCertificate(Text("south.pem"), Text("ca.key")))
                  .ok());
  EXPECT_TRUE(Held().empty());
}

}  // namespace
}  // namespace tributary::cli
