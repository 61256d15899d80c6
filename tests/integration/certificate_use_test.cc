// What a certificate may be used for, in each direction.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/link/channel.h"
#include "tests/support/certificates.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tests/support/odd_certificate.h"
#include "tests/support/reporter.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

class CertificateUseTest : public ::testing::Test {
 protected:
  // An aggregator with the certificate of this name.
  bool Start(const std::string& name) {
    aggregator_ = std::make_unique<AggregatorProcess>(
        folder_, "hub", kWalls, certificates_.Table(name) + "[access]\nviewers = [\"south\", \"child\"]\n");
    aggregator_->Start();
    return aggregator_->Ready();
  }
  grpc::Status AskAs(const config::TlsMaterial& material, int port) const {
    const auto stub = v1::FleetService::NewStub(link::MakeChannel(Address(port), material));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ListNodesResponse nodes;
    return stub->ListNodes(&context, v1::ListNodesRequest(), &nodes);
  }
  grpc::Status AskAs(const std::string& name) const {
    return AskAs(certificates_.Material(name), aggregator_->ingest_port());
  }
  // As a certificate of another authority.
  config::TlsMaterial WithoutUse(const std::string& name) const {
    config::TlsMaterial material = certificates_.Material(name);
    material.certificate_pem =
        CertificateOfNoUse(material.certificate_pem, ReadText(certificates_.File("ca.key")));
    return material;
  }
  // What `tributary status` says to the aggregator at this port, with the certificate of "south".
  std::string StatusSays(int port) const {
    std::vector<std::string> command = {"status", "--aggregator", Address(port)};
    const std::vector<std::string> tls = certificates_.Options("south");
    command.insert(command.end(), tls.begin(), tls.end());
    RunCommand(folder_, command);
    return ReadText(folder_.Path("command.log"));
  }

  ScratchFolder folder_;
  const Certificates certificates_{folder_, "certs", {"aggregator", "child", "south"}};
  std::unique_ptr<AggregatorProcess> aggregator_;
};

TEST_F(CertificateUseTest, AServerTakesClientsAndChildrenAndNoOtherServer) {
  ASSERT_TRUE(Start("aggregator"));
  EXPECT_TRUE(AskAs("south").ok());
  EXPECT_TRUE(AskAs("child").ok());
  EXPECT_EQ(AskAs("aggregator").error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(WaitFor([this] {
    return aggregator_->process().Log().find("who connects to it takes one of --name") != std::string::npos;
  })) << aggregator_->process().Log();
}

TEST_F(CertificateUseTest, AChildIsAServerToo) {
  ASSERT_TRUE(Start("child"));
  EXPECT_TRUE(AskAs("south").ok());
}

TEST_F(CertificateUseTest, CertificatesWithoutAUseGoOnWorking) {
  folder_.Write("certs/aggregator.pem", WithoutUse("aggregator").certificate_pem);
  ASSERT_TRUE(Start("aggregator"));
  EXPECT_TRUE(AskAs(WithoutUse("south"), aggregator_->ingest_port()).ok());
}

// A stolen board that pretends to be the aggregator.
TEST_F(CertificateUseTest, AClientsCertificateMakesNoServer) {
  const config::TlsMaterial south = certificates_.Material("south");
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = south.ca_pem;
  options.pem_key_cert_pairs.push_back({south.key_pem, south.certificate_pem});
  v1::FleetService::Service service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> impostor = builder.BuildAndStart();
  ASSERT_NE(impostor, nullptr);
  EXPECT_EQ(AskAs(certificates_.Material("child"), port).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(StatusSays(port), HasSubstr("an aggregator takes one of `tributary certs --server`"));
}

TEST_F(CertificateUseTest, StatusWarnsOfCertificatesThatExpireSoon) {
  ASSERT_TRUE(Start("aggregator"));
  EXPECT_THAT(StatusSays(aggregator_->ingest_port()), ::testing::Not(HasSubstr("expires")));
  constexpr long kDayS = 86'400;
  for (const char* name : {"aggregator", "south"}) {
    const std::string path = std::string("certs/") + name + ".pem";
    folder_.Write(path, DatedCertificate(ReadText(folder_.Path(path)), ReadText(certificates_.File("ca.key")),
                                         -kDayS, 10 * kDayS + 3600));
  }
  ASSERT_TRUE(WaitFor([this] {
    return aggregator_->process().Log().find("aggregator.pem expires in 10 days") != std::string::npos;
  })) << aggregator_->process().Log();
  const std::string said = StatusSays(aggregator_->ingest_port());
  EXPECT_THAT(said, HasSubstr("south.pem expires in 10 days, on "));
  EXPECT_THAT(said,
              HasSubstr("the certificate of " + Address(aggregator_->ingest_port()) + " expires in 10"));
}

}  // namespace
}  // namespace tributary::testing
