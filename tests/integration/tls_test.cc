// Mutual TLS end to end: certificates from the command line, and daemons that check each other's.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  double Accepted() const {
    return MetricValue(aggregator_.Metrics(), "tributary_frames_accepted_total{site=\"room\"}");
  }

  ScratchFolder folder_;
  Certificates certificates_{folder_, "certs", {"aggregator", "south", "node-east"}};
  AggregatorProcess aggregator_{folder_,
                                "aggregator",
                                {"south", "east"},
                                certificates_.Table("aggregator"),
                                "[[site.owner]]\nnode = \"node-east\"\nsources = [\"east\"]\n"};
};

TEST_F(TlsTest, ANodeWithItsCertificateReports) {
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), certificates_.Table("south"));
  EXPECT_TRUE(WaitFor([&] { return Accepted() > 20; })) << node.process().Log();
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(std::chrono::seconds(10)), 0);
}

TEST_F(TlsTest, ANodeUnderAnothersCertificateIsRefusedByName) {
  // Says "node-south" in its hello, with the certificate of "node-east".
  Reporter south("south", aggregator_.ingest_port(), certificates_.Material("node-east"));
  ASSERT_TRUE(WaitFor([&] { return south.state() == link::UplinkState::kRefused; }));
  const std::string message(south.refusal().message());
  EXPECT_NE(message.find("node-east"), std::string::npos) << message;
  EXPECT_EQ(Accepted(), 0);
  Reporter east("east", aggregator_.ingest_port(), certificates_.Material("node-east"));
  EXPECT_TRUE(WaitFor([&] { return east.Reporting(); }));
}

TEST_F(TlsTest, ACertificateOfAnotherAuthorityOpensNoStream) {
  const Certificates others(folder_, "others", {"node-south"});
  config::TlsMaterial material = others.Material("node-south");
  // It trusts the aggregator, but the aggregator does not trust it.
  material.ca_pem = ReadText(certificates_.File("ca.pem"));
  Reporter stranger("south", aggregator_.ingest_port(), material);
  Reporter plain("south", aggregator_.ingest_port());  // without TLS at all
  Reporter known("east", aggregator_.ingest_port(), certificates_.Material("node-east"));
  ASSERT_TRUE(WaitFor([&] { return known.Reporting(); }));
  known.Offer(UnitFrame(estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs())));
  EXPECT_TRUE(WaitFor([&] { return Accepted() == 1; }));
  EXPECT_FALSE(stranger.Reporting());
  EXPECT_FALSE(plain.Reporting());
}

TEST_F(TlsTest, ANodeIsToldWhatToDoWhereOnlyOneSideHasTls) {
  const Certificates others(folder_, "others", {"node-south"});
  config::TlsMaterial material = others.Material("node-south");
  material.ca_pem = ReadText(certificates_.File("ca.pem"));
  const auto expect = [](const Reporter& node, const std::string& advice) {
    const auto said = [&] { return std::string(node.refusal().message()); };
    EXPECT_TRUE(WaitFor([&] { return said().find(advice) != std::string::npos; })) << said();
  };
  expect(Reporter("south", aggregator_.ingest_port()), "if the aggregator wants TLS, fill [tls]");
  expect(Reporter("south", aggregator_.ingest_port(), material),
         "the aggregator may not trust this certificate");
  AggregatorProcess plain(folder_, "plain", {"south"});
  plain.Start();
  ASSERT_TRUE(plain.Ready());
  expect(Reporter("south", plain.ingest_port(), material), "leave out certificate, key and ca");
}

}  // namespace
}  // namespace tributary::testing
