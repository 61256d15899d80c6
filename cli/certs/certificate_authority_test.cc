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
  EXPECT_EQ(authority->Issue(folder_, "north").value(), "made");
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
  ASSERT_EQ(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value(), "made");
  const std::string before = runtime::ReadFile(folder_ + "/north.pem").value();
  const auto again = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->made());
  EXPECT_EQ(again->Issue(folder_, "north").value(), kThereAlready);
  EXPECT_EQ(runtime::ReadFile(folder_ + "/north.pem").value(), before);
  EXPECT_EQ(again->Issue(folder_, "south").value(), "made");
}

TEST_F(CertificateAuthorityTest, ReplacesACertificateOfAnotherAuthority) {
  ASSERT_EQ(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value(), "made");
  std::filesystem::remove(folder_ + "/ca.pem");
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_EQ(CertificateAuthority::Open(folder_)->Issue(folder_, "north").value(),
            "made again: another CA had signed it");
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
  ASSERT_EQ(authority->Issue(folder_, "hub").value(), "made");
  EXPECT_FALSE(Holds(runtime::ReadFile(folder_ + "/hub.pem").value(), "10.0.0.1"));
  EXPECT_EQ(authority->Issue(folder_, "hub", {"10.0.0.1", "fd00::1", "hub.lan"}).value(),
            "made again: it did not hold the address 10.0.0.1");
  const std::string pem = runtime::ReadFile(folder_ + "/hub.pem").value();
  for (const char* address : {"10.0.0.1", "fd00::1", "hub.lan", "hub", "localhost", "127.0.0.1"}) {
    EXPECT_TRUE(Holds(pem, address)) << address;
  }
  EXPECT_EQ(authority->Issue(folder_, "hub", {"hub.lan"}).value(), kThereAlready);
  EXPECT_EQ(authority->Issue(folder_, "hub").value(), kThereAlready);
}

TEST_F(CertificateAuthorityTest, SaysWhyItMakesACertificateAgain) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue(folder_, "hub", {"10.0.0.1"}).ok());
  EXPECT_EQ(authority->Issue(folder_, "hub", {"10.0.0.1", "10.0.0.2"}).value(),
            "made again: it did not hold the address 10.0.0.2");
  std::filesystem::copy_file(folder_ + "/ca.key", folder_ + "/hub.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(authority->Issue(folder_, "hub").value(),
            "made again: the files were not a certificate and its key");
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
