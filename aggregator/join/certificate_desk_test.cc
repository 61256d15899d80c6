#include "aggregator/join/certificate_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/join/join_request.h"
#include "core/certificates/new_certificate.h"
#include "core/certificates/signing_request.h"
#include "core/config/pem.h"
#include "core/config/tls.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::join {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

class CertificateDeskTest : public ::testing::Test {
 protected:
  CertificateDeskTest() {
    std::filesystem::create_directory(folder_);
    const certificates::CertificateAndKey made = certificates::MakeAuthority(86'400 * 3'650).value();
    ca_pem_ = certificates::PemOf(*made.certificate);
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/ca.pem", ca_pem_).ok());
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + "/ca.key", certificates::PemOf(*made.key), 0600).ok());
    EXPECT_TRUE(certificates::IssueRecord::Begin(folder_).ok());
    Open();
  }
  ~CertificateDeskTest() override {
    desk_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Open() {
    desk_.reset();
    desk_ = std::make_unique<CertificateDesk>(ReadAuthority(folder_, ca_pem_).value(), 86'400 * 90, clock_);
  }
  absl::StatusOr<CertificateDesk::Issued> Ask(CertificateDesk::Order order) {
    std::promise<absl::StatusOr<CertificateDesk::Issued>> answer;
    desk_->Ask(std::move(order),
               [&](absl::StatusOr<CertificateDesk::Issued> issued) { answer.set_value(std::move(issued)); });
    return answer.get_future().get();
  }
  absl::StatusOr<CertificateDesk::Issued> Join(const config::AccessToken& token, const config::Key& key,
                                               const std::string& name = "") {
    return Ask({.certificate_request = certificates::MakeSigningRequest(*key).value(),
                .name = name,
                .token = token});
  }
  absl::StatusOr<CertificateDesk::Issued> Renew(const std::string& name, const config::Key& key) {
    return Ask({.certificate_request = certificates::MakeSigningRequest(*key).value(), .name = name});
  }
  double Metric(const std::string& way, const std::string& result) const {
    runtime::Metrics metrics;
    metrics.AddCollector([this](runtime::Reading& reading) { desk_->Collect(reading); });
    const std::string line =
        "tributary_certificates_issued_total{result=\"" + result + "\",way=\"" + way + "\"} ";
    const std::string text = metrics.Text();
    const std::size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
  }

  const std::string folder_ = OwnFolder() + "desk";
  std::string ca_pem_;
  runtime::ManualClock clock_{1'700'000'000'000'000'000};
  const config::AccessToken token_{
      .id = "3fa94c12", .name = "new", .role = config::TokenRole::kJoin, .boards = {"east", "west"}};
  std::unique_ptr<CertificateDesk> desk_;
};

TEST_F(CertificateDeskTest, GivesACertificateOfTheBoardsKeyUnderTheTokensName) {
  const config::Key key = certificates::NewKey();
  const auto issued = Join(token_, key);
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_EQ(issued->name, "east");
  EXPECT_NE(certificates::PairOf(issued->certificate_pem, certificates::PemOf(*key)).key, nullptr);
  EXPECT_EQ(config::CertificateName(issued->certificate_pem), "east");
  const certificates::IssueRecord record = certificates::IssueRecord::Read(folder_).value();
  ASSERT_EQ(record.lines().size(), 1u);
  EXPECT_EQ(record.lines().front().name, "east");
  EXPECT_EQ(record.lines().front().serial,
            certificates::SerialOf(*config::CertificatesIn(issued->certificate_pem).front()));
}

TEST_F(CertificateDeskTest, EachNameGoesToOneKeyAlsoAfterARestart) {
  const config::Key first = certificates::NewKey(), second = certificates::NewKey(),
                    third = certificates::NewKey();
  ASSERT_EQ(Join(token_, first, "west")->name, "west");
  Open();
  EXPECT_EQ(Join(token_, first)->name, "west") << "the answer was lost";
  EXPECT_TRUE(absl::IsPermissionDenied(Join(token_, first, "east").status()));
  EXPECT_TRUE(absl::IsAlreadyExists(Join(token_, second, "west").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Join(token_, second, "hub").status()));
  EXPECT_EQ(Join(token_, second)->name, "east");
  EXPECT_TRUE(absl::IsResourceExhausted(Join(token_, third).status()));
  config::AccessToken other = token_;
  other.id = "00000000";
  EXPECT_EQ(Join(other, third, "west")->name, "west") << "the operator made another token for that name";
  EXPECT_EQ(Metric("join", "given"), 3);
  EXPECT_EQ(Metric("join", "refused"), 4);
}

TEST_F(CertificateDeskTest, ANameGetsAFewCertificatesADay) {
  const config::Key key = certificates::NewKey();
  for (int i = 0; i < CertificateDesk::kMostOfNameADay; ++i) EXPECT_TRUE(Renew("east", key).ok()) << i;
  EXPECT_TRUE(absl::IsResourceExhausted(Renew("east", key).status()));
  EXPECT_TRUE(Renew("west", key).ok());
  clock_.Advance(kDayNs);
  EXPECT_TRUE(Renew("east", key).ok());
}

TEST_F(CertificateDeskTest, GivesNothingThatTheRecordDoesNotHave) {
  std::filesystem::rename(folder_ + "/issued.txt", folder_ + "/away");
  const config::Key key = certificates::NewKey();
  EXPECT_TRUE(absl::IsUnavailable(Join(token_, key).status()));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/issued.txt")) << "a lost record is not begun anew";
  std::filesystem::rename(folder_ + "/away", folder_ + "/issued.txt");
  EXPECT_EQ(Join(token_, key)->name, "east") << "the board asks again";
}

TEST_F(CertificateDeskTest, RefusesWhatIsNoRequestAndNoName) {
  EXPECT_TRUE(absl::IsInvalidArgument(Ask({.certificate_request = "", .name = "east"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Renew("../ca", certificates::NewKey()).status()));
}

TEST_F(CertificateDeskTest, BeyondItsQueueItRefusesAtOnceAndAnswersEverybody) {
  const config::Key key = certificates::NewKey();
  const std::string request = certificates::MakeSigningRequest(*key).value();
  constexpr int kMany = 2'000;
  std::atomic<int> answered = 0;
  for (int i = 0; i < kMany; ++i) {
    desk_->Ask({.certificate_request = request, .name = "board-" + std::to_string(i)},
               [&](const absl::StatusOr<CertificateDesk::Issued>& issued) {
                 EXPECT_TRUE(issued.ok() || absl::IsResourceExhausted(issued.status())) << issued.status();
                 ++answered;
               });
  }
  desk_.reset();
  EXPECT_EQ(answered, kMany);
}

TEST_F(CertificateDeskTest, AKeyThatOthersMayReadAndAForeignAuthorityAreFoundAtTheStart) {
  EXPECT_THAT(std::string(ReadAuthority(folder_, "").status().message()),
              HasSubstr("is not in the ca of [tls]"));
  ASSERT_EQ(chmod((folder_ + "/ca.key").c_str(), 0640), 0);
  EXPECT_THAT(std::string(ReadAuthority(folder_, ca_pem_).status().message()), HasSubstr("chmod 600"));
  std::filesystem::remove(folder_ + "/ca.key");
  EXPECT_TRUE(absl::IsNotFound(ReadAuthority(folder_, ca_pem_).status()));
}

TEST_F(CertificateDeskTest, AFolderOrAFileThatAnybodyMayWriteIsFoundAtTheStart) {
  const auto fault = [&](const std::string& path, mode_t mode) {
    struct stat before {};
    EXPECT_EQ(stat(path.c_str(), &before), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status status = ReadAuthority(folder_, ca_pem_).status();
    EXPECT_EQ(chmod(path.c_str(), before.st_mode & 07777), 0);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << path;
    return std::string(status.message());
  };
  EXPECT_THAT(fault(folder_, 0777), HasSubstr("chmod o-w " + folder_));
  for (const char* file : {"/issued.txt", "/ca.pem"}) {
    EXPECT_THAT(fault(folder_ + file, 0666), HasSubstr("chmod o-w " + folder_ + file));
  }
  EXPECT_THAT(fault(folder_ + "/ca.key", 0602), HasSubstr("chmod 600"));
  EXPECT_TRUE(ReadAuthority(folder_, ca_pem_).ok());
}

TEST_F(CertificateDeskTest, AFileOfAStrangerIsFoundAtTheStart) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  ASSERT_EQ(chown((folder_ + "/issued.txt").c_str(), 12'345, 12'345), 0);
  EXPECT_THAT(std::string(ReadAuthority(folder_, ca_pem_).status().message()),
              HasSubstr("who could make certificates"));
}

TEST_F(CertificateDeskTest, ALostRecordIsFoundAtTheStart) {
  ASSERT_TRUE(Join(token_, certificates::NewKey(), "east").ok());
  std::filesystem::remove(folder_ + "/issued.txt");
  const absl::Status status = ReadAuthority(folder_, ca_pem_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("issued.txt: is missing"));
}

TEST(JoinRequestTest, ReadsWhatABoardSendsAndRefusesTheRestWithoutRepeatingIt) {
  const auto good =
      ParseJoinRequest(R"({"name": "east", "certificate_request": "x", "of_a_newer_board": 1})");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->name(), "east");
  for (const std::string& body :
       {std::string(), std::string("[]"), std::string("{\"name\": 1}"), std::string("{\"name\": \"secret"),
        std::string(kMostJoinBytes, '['), std::string(kMostJoinBytes + 1, ' ')}) {
    const auto refused = ParseJoinRequest(body);
    ASSERT_FALSE(refused.ok()) << body.substr(0, 20);
    EXPECT_THAT(std::string(refused.status().message()), ::testing::Not(HasSubstr("secret")));
  }
}

TEST_F(CertificateDeskTest, SignsForAnotherAuthorityFromThenOnAndTakesNoTokenOfTheOneBefore) {
  config::AccessToken old_token = token_;
  old_token.ca_sha256 = certificates::Fingerprint(*config::CertificatesIn(ca_pem_).front());
  const config::Key east = certificates::NewKey();
  ASSERT_TRUE(Join(old_token, east, "east").ok());

  const std::string folder = OwnFolder() + "next";
  std::filesystem::create_directory(folder);
  const certificates::CertificateAndKey made = certificates::MakeAuthority(86'400 * 3'650).value();
  const std::string next_pem = certificates::PemOf(*made.certificate);
  ASSERT_TRUE(runtime::WriteFileAtomically(folder + "/ca.pem", next_pem).ok());
  ASSERT_TRUE(runtime::WriteFileAtomically(folder + "/ca.key", certificates::PemOf(*made.key), 0600).ok());
  ASSERT_TRUE(certificates::IssueRecord::Begin(folder).ok());
  desk_->Replace(ReadAuthority(folder, ca_pem_ + next_pem).value());
  EXPECT_EQ(desk_->ca_pem(), next_pem);

  const auto renewed = Renew("east", east);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  const std::vector<config::Certificate> chain = config::CertificatesIn(renewed->certificate_pem);
  EXPECT_EQ(X509_verify(chain.front().get(), X509_get0_pubkey(made.certificate.get())), 1);
  EXPECT_EQ(certificates::IssueRecord::Read(folder)->lines().size(), 1u);

  // Its names would be free again: the new record does not have them.
  const auto refused = Join(old_token, certificates::NewKey(), "east");
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is for another authority"));
  config::AccessToken new_token = token_;
  new_token.id = "00c0ffee";
  new_token.ca_sha256 = certificates::Fingerprint(*made.certificate);
  EXPECT_TRUE(Join(new_token, certificates::NewKey(), "west").ok());
  desk_.reset();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tributary::join
