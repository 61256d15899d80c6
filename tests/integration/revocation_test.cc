// Certificates that their CA takes back, at a running aggregator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/file.h"
#include "tests/support/access_fixture.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

class RevocationTest : public AccessFixture {
 protected:
  // The aggregator starts without a list; SIGHUP gives it one.
  void SetUp() override {
    AccessFixture::SetUp();
    guarded_.certificates().Revoke({"thief"});
    Publish();
    guarded_.Change("[access]", "crl = \"" + folder_.Path("crl.pem") + "\"\n[access]");
    ASSERT_TRUE(WaitFor([this] { return Value("tributary_certificates_revoked") == 1; }));
  }

  // As an operator copies the list to the aggregator's machine.
  void Publish() const {
    const std::string list = ReadText(guarded_.certificates().File("crl.pem"));
    ASSERT_TRUE(runtime::WriteFileAtomically(folder_.Path("crl.pem"), list).ok());
  }
  // How long the streams of these names stay once the list is there.
  milliseconds Revoked(const std::vector<std::string>& names, const std::vector<RawCall*>& streams) const {
    guarded_.certificates().Revoke(names);
    return EndedAfter([this] { Publish(); }, streams);
  }
  void ExpectRefused(RawCall& call) const {
    EXPECT_FALSE(call.Read());
    EXPECT_EQ(call.End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(call.End().error_message(), HasSubstr("is revoked: make another with `tributary certs"));
  }
};

// The streams use every API of gRPC.
TEST_F(RevocationTest, ARevokedCertificateIsOutOfEveryStreamAndTheOthersStay) {
  const auto south = Report("south", "south"), board = Report("board", "east");
  const auto tasks = Participate("learner");
  ASSERT_TRUE(south->Read() && board->Read() && tasks->Read());
  const auto reflect = Reflect("laptop"), watch = Watch("laptop"), stays = Watch("wall");
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_watch_streams") == 2; }));
  Revoked({"south", "learner", "laptop"}, {south.get(), tasks.get(), reflect.get(), watch.get()});
  ExpectRefused(*south);
  ExpectRefused(*watch);
  EXPECT_FALSE(tasks->End().ok() || reflect->End().ok());
  EXPECT_EQ(Value("tributary_nodes_connected{site=\"room\"}"), 1) << "the board reports on";
  EXPECT_EQ(Value("tributary_watch_streams"), 1);
  EXPECT_TRUE(WaitFor([&] { return Value("tributary_participants_connected") == 0; }));
  EXPECT_EQ(Value("tributary_streams_refused_total{reason=\"not_allowed\"}"), 1);
}

// A machine that is busy for a moment must not fail the test: the best of three counts.
TEST_F(RevocationTest, IsOutWithinASecond) {
  milliseconds best = milliseconds::max();
  for (int i = 0; i < 3; ++i) {
    const auto south = Report("south", "south");
    ASSERT_TRUE(south->Read()) << south->End().error_message();
    best = std::min(best, Revoked({"south"}, {south.get()}));
    guarded_.certificates().Make({"south"});
  }
  EXPECT_LE(best, milliseconds(1000));
}

TEST_F(RevocationTest, CannotComeBack) {
  const auto channel = ChannelOf("south");
  const auto south = Report("south", "south");
  ASSERT_TRUE(south->Read());
  Revoked({"south"}, {south.get()});
  for (int i = 0; i < 3; ++i) ExpectRefused(*Report("south", "south"));
  // Nor by the connection that it has.
  ExpectRefused(*std::make_unique<RawCall>(channel, "/grpc.health.v1.Health/Check", "", true,
                                           std::chrono::seconds(20)));
  EXPECT_EQ(Value("tributary_calls_refused_total{reason=\"certificate_revoked\"}"), 4);
  guarded_.aggregator().process().Signal(SIGHUP);
  ExpectRefused(*Report("south", "south"));
}

TEST_F(RevocationTest, TheNameIsBackWithAnotherCertificate) {
  Revoked({"south"}, {});
  ASSERT_TRUE(WaitFor([this] { return Value("tributary_certificates_revoked") == 2; }));
  ExpectRefused(*Report("south", "south"));
  guarded_.certificates().Make({"south"});
  const auto south = Report("south", "south");
  EXPECT_TRUE(south->Read()) << south->End().error_message();
}

TEST_F(RevocationTest, ADamagedListLetsNobodyBackIn) {
  Revoked({"south"}, {});
  ASSERT_TRUE(WaitFor([this] { return Value("tributary_certificates_revoked") == 2; }));
  folder_.Write("crl.pem", "torn");
  const std::string refused = "tributary_tls_reloads_total{files=\"crl\",result=\"refused\"}";
  ASSERT_TRUE(WaitFor([&] { return Value(refused) == 1; }));
  ExpectRefused(*Report("south", "south"));
  EXPECT_THAT(guarded_.aggregator().process().Log(), HasSubstr("is not a PEM revocation list"));
}

}  // namespace
}  // namespace tributary::testing
