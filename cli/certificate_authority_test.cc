#include "cli/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/runtime/file.h"
#include "core/runtime/tls.h"
#include "tests/support/own_folder.h"

namespace tributary {
namespace {

class CertificateAuthorityTest : public ::testing::Test {
 protected:
  CertificateAuthorityTest() : folder_(OwnFolder() + "certificate_authority_test") {
    std::filesystem::remove_all(folder_);
  }
  ~CertificateAuthorityTest() override { std::filesystem::remove_all(folder_); }

  TlsFiles Files(const std::string& name) const {
    return {folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", folder_ + "/ca.pem"};
  }
  const std::string folder_;
};

TEST_F(CertificateAuthorityTest, IssuesWhatTheDaemonsAccept) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority.ok()) << authority.status();
  ASSERT_TRUE(authority->Issue(folder_, "north").value());
  const auto material = LoadTls(Files("north"));
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->name, "north");
}

TEST_F(CertificateAuthorityTest, KeepsKeysToTheirOwner) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue(folder_, "north").ok());
  for (const char* key : {"/ca.key", "/north.key"}) {
    struct stat info {};
    ASSERT_EQ(stat((folder_ + key).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << key;
  }
}

TEST_F(CertificateAuthorityTest, LeavesAloneWhatIsThere) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value());
  const std::string before = ReadFile(folder_ + "/north.pem").value();
  const auto again = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->made());
  EXPECT_FALSE(again->Issue(folder_, "north").value());
  EXPECT_EQ(ReadFile(folder_ + "/north.pem").value(), before);
  EXPECT_TRUE(again->Issue(folder_, "south").value());
}

TEST_F(CertificateAuthorityTest, ReplacesACertificateOfAnotherAuthority) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value());
  std::filesystem::remove(folder_ + "/ca.pem");
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_TRUE(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value());
  EXPECT_TRUE(LoadTls(Files("north")).ok());
}

TEST_F(CertificateAuthorityTest, RefusesNamesThatAreNoFileNames) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const char* name : {"", "a/b", "..", "ca", "a b", "-x", "a\n"}) {
    EXPECT_EQ(authority->Issue(folder_, name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(CertificateAuthorityTest, DoesNotOverwriteHalfAnAuthority) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_).ok());
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_FALSE(CertificateAuthority::Open(folder_).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ca.pem"));
}

}  // namespace
}  // namespace tributary
