// Mutual TLS end to end: certificates made by the command line, daemons that hold each other to them.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MakeCertificates("certs", {"aggregator", "south", "node-east"});
    aggregator_ = std::make_unique<AggregatorProcess>(
        folder_, "aggregator", std::vector<std::string>{"south", "east"}, Table("certs", "aggregator"));
    aggregator_->Start();
    ASSERT_TRUE(aggregator_->Ready()) << aggregator_->process().Log();
  }

  void MakeCertificates(const std::string& authority, const std::vector<std::string>& names) {
    std::vector<std::string> arguments = {"certs", "--out", folder_.Path(authority)};
    for (const std::string& name : names) {
      arguments.push_back("--name");
      arguments.push_back(name);
    }
    Process certs("tributary", arguments, folder_.Path("certs.log"));
    ASSERT_EQ(certs.Wait(std::chrono::seconds(20)), 0) << certs.Log();
  }

  std::string File(const std::string& authority, const std::string& name) const {
    return folder_.Path(authority + "/" + name);
  }

  std::string Table(const std::string& authority, const std::string& name) const {
    return "[tls]\ncertificate = \"" + File(authority, name + ".pem") + "\"\nkey = \"" +
           File(authority, name + ".key") + "\"\nca = \"" + File(authority, "ca.pem") + "\"\n";
  }

  TlsMaterial Material(const std::string& authority, const std::string& name) const {
    TlsMaterial material;
    material.ca_pem = ReadText(File(authority, "ca.pem"));
    material.key_pem = ReadText(File(authority, name + ".key"));
    material.certificate_pem = ReadText(File(authority, name + ".pem"));
    return material;
  }

  double Accepted() const {
    return MetricValue(aggregator_->Metrics(), "tributary_frames_accepted_total{site=\"room\"}");
  }

  ScratchFolder folder_;
  std::unique_ptr<AggregatorProcess> aggregator_;
};

TEST_F(TlsTest, ANodeWithItsCertificateReports) {
  NodeProcess node(folder_, "south", aggregator_->ingest_port(), Table("certs", "south"));
  EXPECT_TRUE(WaitFor([&] { return Accepted() > 20; })) << node.process().Log();
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(std::chrono::seconds(10)), 0);
}

TEST_F(TlsTest, ANodeUnderAnothersCertificateIsRefusedByName) {
  // Says to be "node-south" in its hello, and holds the certificate of "node-east".
  Reporter south("south", aggregator_->ingest_port(), Material("certs", "node-east"));
  ASSERT_TRUE(WaitFor([&] { return south.state() == UplinkState::kRefused; }));
  const std::string message(south.refusal().message());
  EXPECT_NE(message.find("node-east"), std::string::npos) << message;
  EXPECT_EQ(Accepted(), 0);
  Reporter east("east", aggregator_->ingest_port(), Material("certs", "node-east"));
  EXPECT_TRUE(WaitFor([&] { return east.Reporting(); }));
}

TEST_F(TlsTest, ACertificateOfAnotherAuthorityOpensNoStream) {
  MakeCertificates("others", {"node-south"});
  TlsMaterial material = Material("others", "node-south");
  material.ca_pem =
      ReadText(File("certs", "ca.pem"));  // it trusts the aggregator, but not the other way round
  Reporter stranger("south", aggregator_->ingest_port(), material);
  Reporter plain("south", aggregator_->ingest_port());  // without TLS at all
  Reporter known("east", aggregator_->ingest_port(), Material("certs", "node-east"));
  ASSERT_TRUE(WaitFor([&] { return known.Reporting(); }));
  known.Offer(UnitFrame(EpochAt(SystemClock().UnixNs())));
  EXPECT_TRUE(WaitFor([&] { return Accepted() == 1; }));
  EXPECT_FALSE(stranger.Reporting());
  EXPECT_FALSE(plain.Reporting());
}

}  // namespace
}  // namespace tributary::testing
