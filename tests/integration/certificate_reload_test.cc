// Certificates that are replaced under traffic.
#include <gmock/gmock.h>
#include <grpc/grpc_security_constants.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/runtime/file.h"
#include "core/wire/peer.h"
#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/reporter.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTaken = "tributary_tls_reloads_total{files=\"certificate\",result=\"taken\"}";
constexpr const char* kRefused = "tributary_tls_reloads_total{files=\"certificate\",result=\"refused\"}";

class CertificateReloadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    certificates_.Revoke({});
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  double Value(const std::string& metric) const { return MetricValue(aggregator_.Metrics(), metric); }
  double Accepted() const { return Value("tributary_frames_accepted_total{site=\"room\"}"); }
  bool Goes() const {
    const double before = Accepted();
    return WaitFor([&] { return Accepted() > before + 20; });
  }
  // A new certificate in place of the one there, whose key comes first.
  void Renew(const std::string& name) const {
    std::filesystem::remove(certificates_.File(name + ".pem"));
    certificates_.Make({name});
  }
  // What a new connection is shown.
  std::string ServerCertificate() const {
    const auto stub = v1::FleetService::NewStub(
        link::MakeChannel(Address(aggregator_.ingest_port()), certificates_.Material("east")));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ListNodesResponse nodes;
    const grpc::Status status = stub->ListNodes(&context, v1::ListNodesRequest(), &nodes);
    EXPECT_TRUE(status.ok()) << status.error_message();
    const auto pem = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    return pem.empty() ? "" : std::string(pem.front().data(), pem.front().size());
  }
  static nlohmann::json Stopped(NodeProcess& node) {
    node.process().Signal(SIGTERM);
    EXPECT_EQ(node.process().Wait(std::chrono::seconds(20)), 0) << node.process().Log();
    return nlohmann::json::parse(ReadText(node.summary_path()));
  }

  ScratchFolder folder_;
  Certificates certificates_{folder_, "certs", {"aggregator", "south", "east"}};
  AggregatorProcess aggregator_{
      folder_,
      "aggregator",
      {"south", "east"},
      certificates_.Table("aggregator") + "crl = \"" + certificates_.File("crl.pem") + "\"\n"};
};

TEST_F(CertificateReloadTest, LosesNoFrameAndNoStream) {
  NodeProcess south(folder_, "south", aggregator_.ingest_port(), certificates_.Table("south"));
  NodeProcess east(folder_, "east", aggregator_.ingest_port(), certificates_.Table("east"));
  ASSERT_TRUE(Goes()) << south.process().Log();
  for (int i = 1; i <= 3; ++i) {
    Renew("aggregator");
    Renew("south");
    ASSERT_TRUE(WaitFor([&] { return Value(kTaken) == i; })) << aggregator_.process().Log();
    ASSERT_TRUE(WaitFor([&] { return MetricValue(south.Metrics(), kTaken) == i; })) << south.process().Log();
    EXPECT_EQ(ServerCertificate(), ReadText(certificates_.File("aggregator.pem")));
    aggregator_.process().Signal(SIGHUP);
    south.process().Signal(SIGHUP);
    ASSERT_TRUE(Goes());
  }
  for (NodeProcess* node : {&south, &east}) {
    const nlohmann::json summary = Stopped(*node);
    EXPECT_EQ(summary["connections"], 1) << summary;
    EXPECT_EQ(summary["dropped_frames"], 0) << summary;
    EXPECT_EQ(summary["acknowledged_frames"], summary["sent_frames"]) << summary;
    EXPECT_GT(summary["sent_frames"], 20) << summary;
  }
}

TEST_F(CertificateReloadTest, AMismatchingPairLeavesTheOneInForce) {
  const std::string before = ReadText(certificates_.File("aggregator.pem"));
  const std::string key = ReadText(certificates_.File("aggregator.key"));
  ASSERT_TRUE(runtime::WriteFileAtomically(certificates_.File("aggregator.key"),
                                           ReadText(certificates_.File("south.key")))
                  .ok());
  ASSERT_TRUE(WaitFor([&] { return Value(kRefused) == 1; }));
  EXPECT_THAT(aggregator_.process().Log(), HasSubstr("is not the key of the certificate"));
  EXPECT_EQ(ServerCertificate(), before);
  ASSERT_TRUE(runtime::WriteFileAtomically(certificates_.File("aggregator.key"), key).ok());
  Renew("aggregator");
  ASSERT_TRUE(WaitFor([&] { return Value(kTaken) == 1; })) << aggregator_.process().Log();
  EXPECT_EQ(ServerCertificate(), ReadText(certificates_.File("aggregator.pem")));
}

// The whole story of a stolen board, at the node that replaces it.
TEST_F(CertificateReloadTest, ANodeWhoseCertificateIsRevokedIsBackWithTheNextOne) {
  NodeProcess south(folder_, "south", aggregator_.ingest_port(), certificates_.Table("south"));
  ASSERT_TRUE(Goes()) << south.process().Log();
  certificates_.Revoke({"south"});
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_nodes_connected{site=\"room\"}") == 0; }));
  ASSERT_TRUE(WaitFor([&] { return south.process().Log().find("is revoked") != std::string::npos; }))
      << south.process().Log();
  certificates_.Make({"south"});
  // At once, although a node waits up to half a minute after a refusal.
  EXPECT_TRUE(Goes()) << south.process().Log();
  EXPECT_EQ(Stopped(south)["connections"], 2);
}

class ChildReloadTest : public CertificateReloadTest {};

TEST_F(ChildReloadTest, AChildReportsOnWithItsNextCertificate) {
  certificates_.Make({"child"});
  AggregatorProcess top(
      folder_, "top", {"south"},
      certificates_.Table("aggregator") + "crl = \"" + certificates_.File("crl.pem") + "\"\n",
      "[[site.owner]]\nnode = \"child\"\nsources = [\"south\"]\n");
  top.Start();
  ASSERT_TRUE(top.Ready()) << top.process().Log();
  AggregatorProcess child(folder_, "child", {"south"},
                          certificates_.Table("child") + "[parent]\naggregator = \"127.0.0.1:" +
                              std::to_string(top.ingest_port()) + "\"\nnode = \"child\"\n");
  child.Start();
  ASSERT_TRUE(child.Ready()) << child.process().Log();
  const auto connected = [&] {
    return MetricValue(top.Metrics(), "tributary_nodes_connected{site=\"room\"}");
  };
  ASSERT_TRUE(WaitFor([&] { return connected() == 1; })) << child.process().Log();
  certificates_.Revoke({"child"});
  ASSERT_TRUE(WaitFor([&] { return connected() == 0; })) << top.process().Log();
  certificates_.Make({"child"});
  EXPECT_TRUE(WaitFor([&] { return connected() == 1; })) << child.process().Log();
}

}  // namespace
}  // namespace tributary::testing
