#include "cli/certs/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "core/config/revocation_list.h"
#include "core/config/tls.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CertificateAuthorityTest : public ::testing::Test {
 protected:
  CertificateAuthorityTest() : folder_(OwnFolder() + "certificate_authority_test") {
    std::filesystem::remove_all(folder_);
  }
  ~CertificateAuthorityTest() override { std::filesystem::remove_all(folder_); }

  config::TlsFiles Files(const std::string& name) const {
    return {folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", folder_ + "/ca.pem"};
  }
  static CertificateRequest Server(std::vector<std::string> addresses = {}) {
    return {"hub", CertificateUse::kServer, std::move(addresses)};
  }
  const std::string folder_;
};

TEST_F(CertificateAuthorityTest, IssuesWhatTheDaemonsAccept) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority.ok()) << authority.status();
  EXPECT_EQ(authority->Issue({"north"}).value(), "made");
  const auto material = config::LoadTls(Files("north"), config::kClientOnly);
  ASSERT_TRUE(material.ok()) << material.status();
  EXPECT_EQ(material->name, "north");
}

TEST_F(CertificateAuthorityTest, KeepsKeysToTheirOwner) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue({"north"}).ok());
  for (const char* key : {"/ca.key", "/north.key"}) {
    struct stat info {};
    ASSERT_EQ(stat((folder_ + key).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << key;
  }
}

// Whoever has the daemon's account could lead root anywhere.
TEST_F(CertificateAuthorityTest, NothingIsWrittenThroughALink) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue({"south"}).ok());
  const std::string record = runtime::ReadFile(folder_ + "/issued.txt").value();
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/target", "of root").ok());
  for (const char* name : {"/north.key", "/north.pem", "/crl.pem", "/issued.txt"}) {
    std::filesystem::remove(folder_ + name);
    std::filesystem::create_symlink("target", folder_ + name);
    const absl::Status status = name == std::string("/crl.pem") ? authority->Revoke({}).status()
                                                                : authority->Issue({"north"}).status();
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_EQ(runtime::ReadFile(folder_ + "/target").value(), "of root") << name;
    std::filesystem::remove(folder_ + name);
    if (name != std::string("/issued.txt")) {
      EXPECT_EQ(runtime::ReadFile(folder_ + "/issued.txt").value(), record) << "nothing was given";
    }
  }
}

TEST_F(CertificateAuthorityTest, LeavesAloneWhatIsThere) {
  ASSERT_EQ(CertificateAuthority::Open(folder_)->Issue({"north"}).value(), "made");
  const std::string before = runtime::ReadFile(folder_ + "/north.pem").value();
  const auto again = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->made());
  EXPECT_EQ(again->Issue({"north"}).value(), kThereAlready);
  EXPECT_EQ(runtime::ReadFile(folder_ + "/north.pem").value(), before);
  EXPECT_EQ(again->Issue({"south"}).value(), "made");
}

TEST_F(CertificateAuthorityTest, ReplacesACertificateOfAnotherAuthority) {
  ASSERT_EQ(CertificateAuthority::Open(folder_)->Issue({"north"}).value(), "made");
  std::filesystem::remove(folder_ + "/ca.pem");
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_EQ(CertificateAuthority::Open(folder_)->Issue({"north"}).value(),
            "made again: another CA had signed it; its key is new: copy both files");
  EXPECT_TRUE(config::LoadTls(Files("north")).ok());
}

TEST_F(CertificateAuthorityTest, RefusesNamesThatAreNoFileNames) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const char* name : {"", "a/b", "..", "ca", "a b", "-x", "a\n"}) {
    EXPECT_EQ(authority->Issue({name}).status().code(), absl::StatusCode::kInvalidArgument) << name;
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
  ASSERT_EQ(authority->Issue(Server()).value(), "made");
  EXPECT_FALSE(Holds(runtime::ReadFile(folder_ + "/hub.pem").value(), "10.0.0.1"));
  EXPECT_EQ(authority->Issue(Server({"10.0.0.1", "fd00::1", "hub.lan"})).value(),
            "made again: it did not hold the address 10.0.0.1; its key is new: copy both files");
  const std::string pem = runtime::ReadFile(folder_ + "/hub.pem").value();
  for (const char* address : {"10.0.0.1", "fd00::1", "hub.lan", "hub", "localhost", "127.0.0.1"}) {
    EXPECT_TRUE(Holds(pem, address)) << address;
  }
  EXPECT_EQ(authority->Issue(Server({"hub.lan"})).value(), kThereAlready);
  EXPECT_EQ(authority->Issue(Server()).value(), kThereAlready);
}

TEST_F(CertificateAuthorityTest, SaysWhyItMakesACertificateAgain) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue(Server({"10.0.0.1"})).ok());
  EXPECT_EQ(authority->Issue(Server({"10.0.0.1", "10.0.0.2"})).value(),
            "made again: it did not hold the address 10.0.0.2; its key is new: copy both files");
  std::filesystem::copy_file(folder_ + "/ca.key", folder_ + "/hub.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(authority->Issue(Server()).value(),
            "made again: the files were not a certificate and its key; its key is new: copy both files");
}

TEST_F(CertificateAuthorityTest, RefusesAddressesThatAreNone) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const char* address :
       {"", "10.0.0.1:7400", "a b", "x,IP:1.2.3.4", "999.1.1.1", "10.0.0", "10.0.0.1.2", "hub..lan"}) {
    EXPECT_EQ(authority->Issue(Server({address})).status().code(), absl::StatusCode::kInvalidArgument)
        << address;
  }
}

TEST_F(CertificateAuthorityTest, AServersNameIsNoAddress) {
  const auto authority = CertificateAuthority::Open(folder_);
  for (const CertificateUse use : {CertificateUse::kServer, CertificateUse::kServerAndClient}) {
    const absl::Status status = authority->Issue({"10.0.0.1", use}).status();
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("--server aggregator=10.0.0.1"));
  }
}

TEST_F(CertificateAuthorityTest, AServerThatGetsAnAddressKeepsItsEarlierOnesAndSaysSo) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue(Server({"10.0.0.1", "fd00::1", "hub.lan"})).ok());
  EXPECT_EQ(
      authority->Issue(Server({"10.0.0.2", "FD00:0::1"})).value(),
      "made again: it did not hold the address 10.0.0.2; its key is new: copy both files; it still holds "
      "10.0.0.1, hub.lan");
  const std::string pem = runtime::ReadFile(folder_ + "/hub.pem").value();
  for (const char* address : {"10.0.0.1", "10.0.0.2", "fd00::1", "hub.lan", "hub", "localhost"}) {
    EXPECT_TRUE(Holds(pem, address)) << address;
  }
  EXPECT_TRUE(config::LoadTls(Files("hub"), {.server = true}).ok());
}

TEST_F(CertificateAuthorityTest, DoesNotOverwriteHalfAnAuthority) {
  ASSERT_TRUE(CertificateAuthority::Open(folder_).ok());
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_FALSE(CertificateAuthority::Open(folder_).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ca.pem"));
}

// What a certificate may be used for, as its peers judge it.
TEST_F(CertificateAuthorityTest, MakesCertificatesForOneUse) {
  const auto authority = CertificateAuthority::Open(folder_);
  const auto may = [&](const std::string& name, config::TlsUses uses) {
    return config::LoadTls(Files(name), uses).ok();
  };
  constexpr config::TlsUses kServer{.server = true}, kBoth{.server = true, .client = true};
  ASSERT_TRUE(authority->Issue({"north"}).ok());
  ASSERT_TRUE(authority->Issue(Server()).ok());
  ASSERT_TRUE(authority->Issue({"roof", CertificateUse::kServerAndClient}).ok());
  EXPECT_TRUE(may("north", config::kClientOnly) && !may("north", kServer) && !may("north", kBoth));
  EXPECT_TRUE(!may("hub", config::kClientOnly) && may("hub", kServer) && !may("hub", kBoth));
  EXPECT_TRUE(may("roof", config::kClientOnly) && may("roof", kServer) && may("roof", kBoth));
  for (const char* address : {"localhost", "127.0.0.1"}) {
    EXPECT_FALSE(Holds(runtime::ReadFile(folder_ + "/north.pem").value(), address)) << address;
  }
  EXPECT_TRUE(Holds(runtime::ReadFile(folder_ + "/roof.pem").value(), "localhost"));
}

TEST_F(CertificateAuthorityTest, DoesNotTakeAUseFromAValidCertificate) {
  const auto authority = CertificateAuthority::Open(folder_);
  ASSERT_TRUE(authority->Issue({"south"}).ok());
  ASSERT_TRUE(authority->Issue(Server()).ok());
  ASSERT_TRUE(authority->Issue({"roof", CertificateUse::kServerAndClient}).ok());
  const std::string south = runtime::ReadFile(folder_ + "/south.pem").value();
  const absl::Status refused = authority->Issue({"south", CertificateUse::kServer}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("south.pem is the valid certificate of a client"), HasSubstr("remove the file first")));
  EXPECT_EQ(runtime::ReadFile(folder_ + "/south.pem").value(), south);
  EXPECT_FALSE(authority->Issue({"hub"}).ok());
  EXPECT_FALSE(authority->Issue({"roof"}).ok());
  EXPECT_FALSE(authority->Issue({"roof", CertificateUse::kServer}).ok());
  EXPECT_EQ(authority->Issue({"south", CertificateUse::kServerAndClient}).value(),
            "made again: it was not a server's; its key is new: copy both files");
  std::filesystem::remove(folder_ + "/hub.pem");
  EXPECT_EQ(authority->Issue({"hub"}).value(), "made");
}

TEST_F(CertificateAuthorityTest, AClientHasNoAddress) {
  const auto authority = CertificateAuthority::Open(folder_);
  const absl::Status status = authority->Issue({"hub", CertificateUse::kClient, {"10.0.0.1"}}).status();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("say --server hub=10.0.0.1"));
}

class RevokeTest : public CertificateAuthorityTest {
 protected:
  // By the list that a server reads.
  bool Revoked(const std::string& certificate_pem) const {
    const auto list = config::RevocationList::Parse(Text("crl.pem"), Text("ca.pem"));
    EXPECT_TRUE(list.ok()) << list.status();
    return list.ok() && list->Lists(config::CertificateIdOf(certificate_pem).value());
  }
  std::string Text(const std::string& name) const { return runtime::ReadFile(folder_ + "/" + name).value(); }
  std::string Issue(const std::string& name) const { return authority_->Issue({name}).value(); }

  const absl::StatusOr<CertificateAuthority> authority_ = CertificateAuthority::Open(folder_);
};

TEST_F(RevokeTest, TakesBackEveryCertificateThatANameHasHad) {
  Issue("north");
  Issue("south");
  const std::string first = Text("north.pem");
  std::filesystem::remove(folder_ + "/north.pem");
  Issue("north");
  EXPECT_THAT(authority_->Revoke({"north"}).value(), ::testing::ElementsAre(2u));
  EXPECT_TRUE(Revoked(first) && Revoked(Text("north.pem")));
  EXPECT_FALSE(Revoked(Text("south.pem")));
  EXPECT_THAT(authority_->Revoke({"north", "south"}).value(), ::testing::ElementsAre(0u, 1u));
  EXPECT_TRUE(Revoked(first) && Revoked(Text("south.pem")));
}

TEST_F(RevokeTest, TheNextCertificateOfTheNameIsGood) {
  Issue("north");
  ASSERT_TRUE(authority_->Revoke({"north"}).ok());
  EXPECT_EQ(Issue("north"), "made again: it was revoked; its key is new: copy both files");
  EXPECT_FALSE(Revoked(Text("north.pem")));
  EXPECT_EQ(Issue("north"), kThereAlready);
}

TEST_F(RevokeTest, AnAuthorityHasItsRecordFromTheBeginningAndNothingGoesWithoutIt) {
  ASSERT_EQ(runtime::ReadFile(folder_ + "/issued.txt").value(), "");
  std::filesystem::remove(folder_ + "/issued.txt");
  EXPECT_THAT(std::string(authority_->Issue({"north"}).status().message()),
              HasSubstr("issued.txt: is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/north.pem"));
  EXPECT_THAT(std::string(authority_->Revoke({"north"}).status().message()),
              HasSubstr("issued.txt: is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/crl.pem"));
}

TEST_F(RevokeTest, TakesBackWhatAnEarlierReleaseMade) {
  Issue("north");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/issued.txt", "").ok());  // as the fault tells
  EXPECT_THAT(authority_->Revoke({"north"}).value(), ::testing::ElementsAre(1u));
  EXPECT_TRUE(Revoked(Text("north.pem")));
}

TEST_F(RevokeTest, TakesBackWhatAnEarlierReleaseMadeAlsoAfterItWasReplaced) {
  Issue("north");
  const std::string first = Text("north.pem");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/issued.txt", "").ok());  // as the fault tells
  EXPECT_EQ(Issue("north"), kThereAlready);
  std::filesystem::remove(folder_ + "/north.pem");
  Issue("north");
  EXPECT_THAT(authority_->Revoke({"north"}).value(), ::testing::ElementsAre(2u));
  EXPECT_TRUE(Revoked(first) && Revoked(Text("north.pem")));
}

TEST_F(RevokeTest, RenewsTheListWithoutNames) {
  Issue("north");
  ASSERT_TRUE(authority_->Revoke({"north"}).ok());
  const auto before = config::RevocationList::Parse(Text("crl.pem"), Text("ca.pem"));
  EXPECT_TRUE(authority_->Revoke({})->empty());
  EXPECT_TRUE(Revoked(Text("north.pem")));
  const auto after = config::RevocationList::Parse(Text("crl.pem"), Text("ca.pem"));
  EXPECT_TRUE(after->MayReplace(*before).ok());
  EXPECT_FALSE(before->MayReplace(*after).ok());
}

TEST_F(RevokeTest, WritesNothingForAnUnknownName) {
  Issue("north");
  EXPECT_EQ(authority_->Revoke({"north", "nobody"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/crl.pem"));
}

TEST_F(RevokeTest, DoesNotReplaceADamagedListByAShorterOne) {
  Issue("north");
  Issue("south");
  ASSERT_TRUE(authority_->Revoke({"north"}).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/crl.pem", "torn").ok());
  EXPECT_EQ(authority_->Revoke({"south"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Text("crl.pem"), "torn");
}

TEST_F(RevokeTest, AListOfAnotherAuthorityHoldsNobody) {
  Issue("north");
  ASSERT_TRUE(authority_->Revoke({"north"}).ok());
  const auto other = CertificateAuthority::Open(folder_ + "/other");
  const auto list = config::RevocationList::Parse(Text("crl.pem"), Text("other/ca.pem"));
  EXPECT_THAT(std::string(list.status().message()), ::testing::HasSubstr("is not signed by a CA"));
}

TEST_F(RevokeTest, ADamagedRecordIsNamedWithItsLine) {
  Issue("north");
  ASSERT_TRUE(runtime::WriteFileAtomically(folder_ + "/issued.txt", "AB north\nno serial\n").ok());
  const absl::Status status = authority_->Revoke({"north"}).status();
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("issued.txt: line 2: expected"));
}

}  // namespace
}  // namespace tributary::cli
