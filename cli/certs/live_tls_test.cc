// Certificates that are replaced under a running process.
#include "core/config/live_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "cli/certs/certificate_authority.h"
#include "core/runtime/file.h"
#include "tests/support/odd_certificate.h"
#include "tests/support/own_folder.h"

namespace tributary::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// The authority's folder is `ca`; what the process reads lies in `use`.
class LiveTlsTest : public ::testing::Test {
 protected:
  LiveTlsTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(Path("use"));
    Issue("north");
    Put("north.pem", "own.pem");
    Put("north.key", "own.key");
    Put("ca.pem", "ca.pem");
  }
  ~LiveTlsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Text(const std::string& name) const { return runtime::ReadFile(Path(name)).value(); }
  // A new certificate, whatever is there.
  void Issue(const std::string& name, cli::CertificateUse use = cli::CertificateUse::kClient) const {
    std::filesystem::remove(Path("ca/" + name + ".pem"));
    ASSERT_TRUE(cli::CertificateAuthority::Open(Path("ca"))->Issue({name, use}).ok());
  }
  void Revoke(const std::string& name) const {
    ASSERT_TRUE(cli::CertificateAuthority::Open(Path("ca"))->Revoke({name}).ok());
  }
  // From the authority to the process, as an operator copies it.
  void Put(const std::string& from, const std::string& to) const { Write(to, Text("ca/" + from)); }
  void Write(const std::string& to, const std::string& text) const {
    ASSERT_TRUE(runtime::WriteFileAtomically(Path("use/" + to), text).ok());
  }
  TlsFiles Files(const std::string& crl = "") const {
    return {Path("use/own.pem"), Path("use/own.key"), Path("use/ca.pem"),
            crl.empty() ? "" : Path("use/" + crl)};
  }
  void Start(const TlsFiles& files, TlsUses uses = kClientOnly) {
    LoadedTls loaded{LoadTls(files, uses).value()};
    if (!files.crl.empty()) loaded.revoked = LoadRevocations(files, loaded.material).value();
    live_ = std::make_unique<LiveTls>(files, uses, std::move(loaded), clock_);
  }
  // What a process does in three seconds.
  void Wait() {
    for (int i = 0; i < 30; ++i) {
      clock_.Advance(kSecondNs / 10);
      live_->Poll();
    }
  }
  std::string Metrics() const {
    runtime::Metrics metrics;
    metrics.AddCollector([this](runtime::Reading& reading) { live_->Collect(reading); });
    return metrics.Text();
  }
  CertificateId IdOf(const std::string& name) const { return CertificateIdOf(Text(name)).value(); }

  const std::string folder_ = OwnFolder() + "live_tls_test";
  runtime::ManualClock clock_{runtime::SystemClock().UnixNs()};
  std::unique_ptr<LiveTls> live_;
};

TEST_F(LiveTlsTest, TakesANewPairWithoutASignal) {
  Start(Files());
  Wait();
  EXPECT_EQ(live_->version(), 1u) << "nothing has changed";
  Issue("north");
  Put("north.pem", "own.pem");
  Put("north.key", "own.key");
  Wait();
  EXPECT_EQ(live_->version(), 2u);
  EXPECT_EQ(live_->material()->certificate_pem, Text("ca/north.pem"));
  EXPECT_EQ(live_->material()->key_pem, Text("ca/north.key"));
  EXPECT_THAT(Metrics(), HasSubstr("tributary_tls_reloads_total{files=\"certificate\",result=\"taken\"} 1"));
}

TEST_F(LiveTlsTest, KeepsThePairInForceUntilBothFilesOfTheNextAreThere) {
  Start(Files());
  const std::string before = live_->material()->certificate_pem;
  Issue("north");
  Put("north.pem", "own.pem");
  Wait();
  EXPECT_EQ(live_->version(), 1u);
  EXPECT_EQ(live_->material()->certificate_pem, before);
  EXPECT_THAT(Metrics(), HasSubstr("tributary_tls_reloads_total{files=\"certificate\",result=\"refused\"} 1"))
      << "the same fault is counted once";
  Put("north.key", "own.key");
  Wait();
  EXPECT_EQ(live_->material()->certificate_pem, Text("ca/north.pem"));
}

TEST_F(LiveTlsTest, KeepsThePairInForceWhileAFileIsHalfWrittenOrGone) {
  Start(Files());
  const std::string whole = Text("use/own.pem");
  for (const std::string& torn :
       {whole.substr(0, whole.size() / 2), std::string(), std::string(1 << 20, '-')}) {
    Write("own.pem", torn);
    Wait();
    EXPECT_EQ(live_->version(), 1u);
  }
  std::filesystem::remove(Path("use/own.key"));
  Wait();
  EXPECT_EQ(live_->version(), 1u);
  EXPECT_EQ(live_->material()->certificate_pem, whole);
}

TEST_F(LiveTlsTest, KeepsThePairInForceIfTheNextHasExpired) {
  Start(Files());
  Write("own.pem", ExpiredCertificate(Text("ca/north.pem"), Text("ca/ca.key")));
  Wait();
  EXPECT_EQ(live_->version(), 1u);
}

TEST_F(LiveTlsTest, DoesNotBecomeAnotherNode) {
  Start(Files());
  Issue("south");
  Put("south.pem", "own.pem");
  Put("south.key", "own.key");
  Wait();
  EXPECT_EQ(live_->version(), 1u);
  EXPECT_EQ(live_->material()->name, "north");
}

TEST_F(LiveTlsTest, DoesNotTakeACertificateOfAnotherUse) {
  Start(Files());
  Issue("north", cli::CertificateUse::kServer);
  Put("north.pem", "own.pem");
  Put("north.key", "own.key");
  Wait();
  EXPECT_EQ(live_->version(), 1u);
}

// The CA is replaced: first everybody trusts both, then the certificates change, then the old CA goes.
TEST_F(LiveTlsTest, TrustsTwoAuthoritiesWhileOneIsReplaced) {
  Start(Files());
  const std::string old_ca = Text("ca/ca.pem");
  std::filesystem::remove_all(Path("ca"));
  Issue("north");
  Write("ca.pem", old_ca + Text("ca/ca.pem"));
  Wait();
  EXPECT_EQ(live_->version(), 2u);
  Put("north.pem", "own.pem");
  Put("north.key", "own.key");
  Wait();
  EXPECT_EQ(live_->version(), 3u);
  Put("ca.pem", "ca.pem");
  Wait();
  EXPECT_EQ(live_->version(), 4u);
  EXPECT_EQ(live_->material()->ca_pem, Text("ca/ca.pem"));
}

TEST_F(LiveTlsTest, ASignalTakesFilesThatLieElsewhere) {
  Start(Files());
  Issue("north");
  live_->Reload({Path("ca/north.pem"), Path("ca/north.key"), Path("ca/ca.pem")});
  EXPECT_EQ(live_->material()->certificate_pem, Text("ca/north.pem"));
}

TEST_F(LiveTlsTest, TakesANewListAtOnce) {
  Issue("south");
  Revoke("south");
  Put("crl.pem", "crl.pem");
  Start(Files("crl.pem"));
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("ca/south.pem")));
  EXPECT_FALSE(live_->revoked()->Lists(IdOf("ca/north.pem")));
  const std::uint64_t version = live_->list_version();
  Revoke("north");
  Put("crl.pem", "crl.pem");
  clock_.Advance(kSecondNs / 10);
  live_->Poll();
  EXPECT_GT(live_->list_version(), version);
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("ca/north.pem")));
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("ca/south.pem")));
}

TEST_F(LiveTlsTest, KeepsTheListInForceIfTheNextIsDamagedForeignOlderOrGone) {
  Revoke("north");
  const std::string first = Text("ca/crl.pem");
  Issue("north");
  Revoke("north");
  Put("crl.pem", "crl.pem");
  Start(Files("crl.pem"));
  const std::string now = Text("ca/crl.pem");
  const std::string foreign = [this] {
    const auto other = cli::CertificateAuthority::Open(Path("other"));
    EXPECT_TRUE(other->Issue({"north"}).ok() && other->Revoke({"north"}).ok());
    return Text("other/crl.pem");
  }();
  for (const std::string& bad : {now.substr(0, now.size() / 2), foreign, first, std::string(2 << 20, 'x')}) {
    Write("crl.pem", bad);
    Wait();
    EXPECT_EQ(live_->revoked()->size(), 2u);
  }
  std::filesystem::remove(Path("use/crl.pem"));
  Wait();
  EXPECT_EQ(live_->revoked()->size(), 2u);
  EXPECT_THAT(Metrics(), HasSubstr("tributary_tls_reloads_total{files=\"crl\",result=\"refused\"} 5"));
  Write("crl.pem", now);
  Wait();
  EXPECT_EQ(live_->revoked()->size(), 2u);
}

TEST_F(LiveTlsTest, KeepsTheListsOfBothAuthoritiesWhileBothAreTrusted) {
  Revoke("north");
  const auto next = cli::CertificateAuthority::Open(Path("next"));
  ASSERT_TRUE(next->Issue({"north"}).ok() && next->Revoke({"north"}).ok());
  const std::string before = Text("ca/crl.pem"), after = Text("next/crl.pem");
  Write("ca.pem", Text("next/ca.pem") + Text("ca/ca.pem"));
  Write("crl.pem", before + after);
  Start(Files("crl.pem"));
  Write("crl.pem", after);
  Wait();
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("ca/north.pem")));
  // When nobody trusts the first any more, its list may go.
  Write("ca.pem", Text("next/ca.pem"));
  Write("own.pem", Text("next/north.pem"));
  Write("own.key", Text("next/north.key"));
  live_->Reload(Files("crl.pem"));
  EXPECT_FALSE(live_->revoked()->Lists(IdOf("ca/north.pem")));
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("next/north.pem")));
}

// Lists of other authorities may have no number, and may be made twice in a second.
TEST_F(LiveTlsTest, TakesAListThatDiffersInItsCertificatesAlone) {
  Issue("south");
  Write("crl.pem",
        ListWithoutNumber(Text("ca/ca.pem"), Text("ca/ca.key"), Text("ca/south.pem"), 1'700'000'000));
  Start(Files("crl.pem"));
  ASSERT_TRUE(live_->revoked()->Lists(IdOf("ca/south.pem")));
  Write("crl.pem",
        ListWithoutNumber(Text("ca/ca.pem"), Text("ca/ca.key"), Text("ca/north.pem"), 1'700'000'000));
  Wait();
  EXPECT_TRUE(live_->revoked()->Lists(IdOf("ca/north.pem")));
}

// The aggregator would start without a list, and let everybody in.
TEST_F(LiveTlsTest, AListThatIsTornAfterItWasLoadedIsInForce) {
  Revoke("north");
  Put("crl.pem", "crl.pem");
  LoadedTls loaded{LoadTls(Files(), kClientOnly).value()};
  loaded.revoked = LoadRevocations(Files("crl.pem"), loaded.material).value();
  Write("crl.pem", "torn");
  LiveTls live(Files("crl.pem"), kClientOnly, std::move(loaded), clock_);
  EXPECT_EQ(live.revoked()->size(), 1u);
}

TEST_F(LiveTlsTest, TakesFilesThatChangedBetweenTheirLoadingAndTheStart) {
  Start(Files());
  LoadedTls loaded{*live_->material()};
  Issue("north");
  Put("north.pem", "own.pem");
  Put("north.key", "own.key");
  live_ = std::make_unique<LiveTls>(Files(), kClientOnly, std::move(loaded), clock_);
  Wait();
  EXPECT_EQ(live_->material()->certificate_pem, Text("ca/north.pem"));
}

TEST_F(LiveTlsTest, ASignalWithoutAChangeChangesNothing) {
  Revoke("north");
  Put("crl.pem", "crl.pem");
  Start(Files("crl.pem"));
  const std::uint64_t version = live_->version(), list_version = live_->list_version();
  live_->Reload(Files("crl.pem"));
  EXPECT_EQ(live_->version(), version);
  EXPECT_EQ(live_->list_version(), list_version);
}

TEST_F(LiveTlsTest, AListThatIsNamedNoMoreHoldsNobody) {
  Revoke("north");
  Put("crl.pem", "crl.pem");
  Start(Files("crl.pem"));
  ASSERT_EQ(live_->revoked()->size(), 1u);
  live_->Reload(Files());
  EXPECT_EQ(live_->revoked()->size(), 0u);
}

TEST_F(LiveTlsTest, CountsTheSecondsUntilEachExpires) {
  Revoke("north");
  Put("crl.pem", "crl.pem");
  Start(Files("crl.pem"));
  EXPECT_THAT(Metrics(), HasSubstr("tributary_certificate_expiry_seconds{use=\"client\"} 6307"));
  EXPECT_THAT(Metrics(), HasSubstr("tributary_certificate_expiry_seconds{use=\"ca\"} 31535"));
  EXPECT_THAT(Metrics(), HasSubstr("tributary_certificate_expiry_seconds{use=\"crl\"} 3153"));
  EXPECT_THAT(Metrics(), Not(HasSubstr("use=\"server\"")));
  EXPECT_THAT(Metrics(), HasSubstr("tributary_certificates_revoked 1"));
}

TEST(ExpiryWarningTest, BeginsThirtyDaysBefore) {
  constexpr std::int64_t kDayS = 86'400, kNow = 1'700'000'000;
  EXPECT_EQ(ExpiryWarning(kNow + 31 * kDayS, kNow), "");
  EXPECT_EQ(ExpiryWarning(kNow + 30 * kDayS, kNow), "expires in 30 days, on 2023-12-14");
  EXPECT_EQ(ExpiryWarning(kNow + kDayS, kNow), "expires in 1 day, on 2023-11-15");
  EXPECT_EQ(ExpiryWarning(kNow - 1, kNow), "expired on 2023-11-14");
}

}  // namespace
}  // namespace tributary::config
