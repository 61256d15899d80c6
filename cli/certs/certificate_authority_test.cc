#include "cli/certs/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "core/config/tls.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

class CertificateAuthorityTest : public ::testing::Test {
 protected:
  CertificateAuthorityTest() : folder_(OwnFolder() + "certificate_authority_test") {
    std::filesystem::remove_all(folder_);
  }
  ~CertificateAuthorityTest() override { std::filesystem::remove_all(folder_); }

  config::TlsFiles Files(const std::string& name) const {
    return {folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", folder_ + "/ca.pem"};
  }
  const std::string folder_;
};

TEST_F(CertificateAuthorityTest, IssuesWhatTheDaemonsAccept) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority.ok()) << authority.status();
  ASSERT_TRUE(authority->Issue(folder_, "north").value());
  const auto material = config::LoadTls(Files("north"));
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
  const std::string before = runtime::ReadFile(folder_ + "/north.pem").value();
  const auto again = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->made());
  EXPECT_FALSE(again->Issue(folder_, "north").value());
  EXPECT_EQ(runtime::ReadFile(folder_ + "/north.pem").value(), before);
  EXPECT_TRUE(again->Issue(folder_, "south").value());
}

TEST_F(CertificateAuthorityTest, ReplacesACertificateOfAnotherAuthority) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value());
  std::filesystem::remove(folder_ + "/ca.pem");
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_TRUE(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value());
  EXPECT_TRUE(config::LoadTls(Files("north")).ok());
}

TEST_F(CertificateAuthorityTest, RefusesNamesThatAreNoFileNames) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const char* name : {"", "a/b", "..", "ca", "a b", "-x", "a\n"}) {
    EXPECT_EQ(authority->Issue(folder_, name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

// How its subject alternative names are judged by who connects to it.
bool Holds(const std::string& pem, const std::string& address) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr), &X509_free);
  return X509_check_ip_asc(certificate.get(), address.c_str(), 0) == 1 ||
         X509_check_host(certificate.get(), address.data(), address.size(), 0, nullptr) == 1;
}

TEST_F(CertificateAuthorityTest, MakesAServerReachableAtItsAddresses) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue(folder_, "hub").value());
  EXPECT_FALSE(Holds(runtime::ReadFile(folder_ + "/hub.pem").value(), "10.0.0.1"));
  ASSERT_TRUE(authority->Issue(folder_, "hub", {"10.0.0.1", "fd00::1", "hub.lan"}).value())
      << "it lacks them";
  const std::string pem = runtime::ReadFile(folder_ + "/hub.pem").value();
  for (const char* address : {"10.0.0.1", "fd00::1", "hub.lan", "hub", "localhost", "127.0.0.1"}) {
    EXPECT_TRUE(Holds(pem, address)) << address;
  }
  EXPECT_FALSE(authority->Issue(folder_, "hub", {"hub.lan"}).value()) << "it holds it already";
  EXPECT_FALSE(authority->Issue(folder_, "hub").value());
}

TEST_F(CertificateAuthorityTest, RefusesAddressesThatAreNone) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const char* address : {"", "10.0.0.1:7400", "a b", "x,IP:1.2.3.4"}) {
    EXPECT_EQ(authority->Issue(folder_, "hub", {address}).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST_F(CertificateAuthorityTest, DoesNotOverwriteHalfAnAuthority) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_).ok());
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_FALSE(CertificateAuthority::Open(folder_).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ca.pem"));
}

}  // namespace
}  // namespace tributary::cli
