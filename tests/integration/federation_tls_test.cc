// Learning under mutual TLS: nodes with their own names learn; a node with another's name is refused.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/link/channel.h"
#include "tests/support/certificates.h"
#include "tests/support/learners.h"
#include "tributary/v1/federation.grpc.pb.h"

namespace tributary::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FederationTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    const std::string run = folder_.Write(
        "run.toml",
        "name = \"r\"\nrounds = 2\nmin_nodes = 2\ndeadline_s = 60.0\n[client]\nlocal_steps = 1\nbatch = 4\n");
    std::vector<std::string> start = {"run", "start", run, "--aggregator", Address()};
    const std::vector<std::string> tls = certificates_.Options("operator");
    start.insert(start.end(), tls.begin(), tls.end());
    ASSERT_EQ(RunCommand(folder_, start), 0) << ReadText(folder_.Path("command.log"));
  }

  std::string Address() const { return "127.0.0.1:" + std::to_string(aggregator_.ingest_port()); }
  nlohmann::json Run() const {
    const auto answer = nlohmann::json::parse(aggregator_.Get("/api/v1/runs/r"), nullptr, false);
    return answer.is_object() ? answer["run"] : nlohmann::json::object();
  }

  ScratchFolder folder_;
  Certificates certificates_{folder_, "certs", {"aggregator", "operator", "child", "learner-0", "learner-1"}};
  AggregatorProcess aggregator_{folder_,
                                "aggregator",
                                {"south"},
                                FederationKeys(folder_) + certificates_.Table("aggregator") +
                                    "[access]\noperators = [\"operator\"]\n"
                                    "nodes = [\"learner-0\", \"learner-1\"]\nchildren = [\"child\"]\n"};
};

TEST_F(FederationTlsTest, NodesWithTheirCertificatesFinishARun) {
  LearnerProcess first(folder_, 0, 2, aggregator_.ingest_port(), certificates_.Table("learner-0"));
  LearnerProcess second(folder_, 1, 2, aggregator_.ingest_port(), certificates_.Table("learner-1"));
  first.Start();
  second.Start();
  EXPECT_TRUE(
      WaitFor([this] { return Run().value("state", "") == "RUN_STATE_FINISHED"; }, std::chrono::seconds(60)))
      << aggregator_.Get("/api/v1/runs/r") << first.process().Log();
}

// One node is below a child that the list of children names, the other one is asked directly.
TEST_F(FederationTlsTest, AChildOfTheListFinishesARunBesideANode) {
  AggregatorProcess child(folder_, "child", {"south"},
                          "[federation]\nstore = \"" + folder_.Path("child-store") +
                              "\"\n[federation.parent]\naggregator = \"" + Address() +
                              "\"\nnode = \"child\"\nmin_nodes = 1\n[access]\nnodes = [\"learner-0\"]\n" +
                              certificates_.Table("child"));
  child.Start();
  ASSERT_TRUE(child.Ready()) << child.process().Log();
  LearnerProcess below(folder_, 0, 2, child.ingest_port(), certificates_.Table("learner-0"));
  LearnerProcess beside(folder_, 1, 2, aggregator_.ingest_port(), certificates_.Table("learner-1"));
  below.Start();
  beside.Start();
  EXPECT_TRUE(
      WaitFor([this] { return Run().value("state", "") == "RUN_STATE_FINISHED"; }, std::chrono::seconds(60)))
      << aggregator_.Get("/api/v1/runs/r") << child.process().Log();
  // The last answer may still be on its way.
  EXPECT_TRUE(WaitFor([&] {
    return MetricValue(child.Metrics(), "tributary_relay_contributors_total") == 2;
  })) << "one in each round";
}

// Uses learner-1's certificate with learner-0's name.
class ImpostorTest : public FederationTlsTest {
 protected:
  void SetUp() override {
    FederationTlsTest::SetUp();
    stub_ = v1::FederationService::NewStub(link::MakeChannel(Address(), certificates_.Material("learner-1")));
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    context_.set_wait_for_ready(true);
  }
  // Whatever it has called.
  void TearDown() override {
    EXPECT_EQ(MetricValue(aggregator_.Metrics(), "tributary_calls_refused_total{reason=\"identity\"}"), 1);
    FederationTlsTest::TearDown();
  }
  template <class Request>
  static Request Claim() {
    Request request;
    request.set_run("r");
    request.set_round(1);
    request.set_node("learner-0");
    return request;
  }
  static auto NamesBoth() { return AllOf(HasSubstr("learner-0"), HasSubstr("learner-1")); }

  std::unique_ptr<v1::FederationService::Stub> stub_;
  grpc::ClientContext context_;
};

TEST_F(ImpostorTest, GetsNoTasks) {
  v1::ParticipateRequest request;
  request.set_node("learner-0");
  request.set_boot_id(std::string(16, 'b'));
  request.add_workloads("self_supervised");
  const auto stream = stub_->Participate(&context_, request);
  v1::ParticipateResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), NamesBoth());
  EXPECT_EQ(Run().value("joined_nodes", -1), 0);
}

TEST_F(ImpostorTest, GetsNoModel) {
  const auto stream = stub_->FetchModel(&context_, Claim<v1::FetchModelRequest>());
  v1::FetchModelResponse response;
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), NamesBoth());
}

TEST_F(ImpostorTest, SubmitsNoUpdate) {
  v1::SubmitUpdateResponse response;
  const auto stream = stub_->SubmitUpdate(&context_, &response);
  v1::SubmitUpdateRequest request;
  *request.mutable_header() = Claim<v1::UpdateHeader>();
  request.mutable_header()->set_boot_id(std::string(16, 'b'));
  request.mutable_header()->set_schema_sha256(std::string(32, 's'));
  request.mutable_header()->set_base_model_sha256(std::string(32, 'm'));
  request.mutable_header()->set_encoding(v1::UPDATE_ENCODING_FLOAT32);
  request.mutable_header()->set_element_count(1);
  request.mutable_header()->set_sample_count(1);
  stream->Write(request);
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.accepted());
  EXPECT_EQ(response.reason(), v1::SUBMIT_REFUSAL_IDENTITY);
  EXPECT_FALSE(response.try_again());
  EXPECT_THAT(response.message(), NamesBoth());
  EXPECT_EQ(MetricValue(aggregator_.Metrics(), "tributary_updates_refused_total{reason=\"identity\"}"), 1);
}

TEST_F(ImpostorTest, DeclinesForNobodyElse) {
  auto request = Claim<v1::DeclineTaskRequest>();
  request.set_boot_id(std::string(16, 'b'));
  request.set_for_good(true);
  v1::DeclineTaskResponse response;
  const grpc::Status status = stub_->DeclineTask(&context_, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.accepted());
  EXPECT_THAT(response.message(), NamesBoth());
}

TEST_F(ImpostorTest, AdvertisesNoKeys) {
  auto request = Claim<v1::AdvertiseKeysRequest>();
  request.set_cipher_key(std::string(32, 'c'));
  request.set_mask_key(std::string(32, 'm'));
  v1::AdvertiseKeysResponse response;
  const grpc::Status status = stub_->AdvertiseKeys(&context_, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.accepted());
  EXPECT_THAT(response.message(), NamesBoth());
}

TEST_F(ImpostorTest, SharesNoSecrets) {
  v1::ShareKeysResponse response;
  const grpc::Status status = stub_->ShareKeys(&context_, Claim<v1::ShareKeysRequest>(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.accepted());
  EXPECT_THAT(response.message(), NamesBoth());
}

TEST_F(ImpostorTest, RevealsNoShares) {
  v1::UnmaskResponse response;
  const grpc::Status status = stub_->Unmask(&context_, Claim<v1::UnmaskRequest>(), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.accepted());
  EXPECT_THAT(response.message(), NamesBoth());
}

}  // namespace
}  // namespace tributary::testing
