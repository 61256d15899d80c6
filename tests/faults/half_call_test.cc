// Calls of which only the headers come.
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"
#include "tributary/v1/run.pb.h"

namespace tributary::testing {
namespace {

// Opens a call and says nothing in it.
class HalfCall {
 public:
  HalfCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& path) : stub_(channel) {
    stream_ = stub_.PrepareCall(&context_, path, &queue_);
    stream_->StartCall(this);
    opened_ = Next();
  }
  ~HalfCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  HalfCall(const HalfCall&) = delete;
  HalfCall& operator=(const HalfCall&) = delete;

  bool opened() const { return opened_; }
  // Ends its half without a request; how the aggregator ends the call.
  grpc::Status End() {
    grpc::Status status;
    stream_->WritesDone(this);
    Next();
    stream_->Finish(&status, this);
    return Next() ? status : grpc::Status(grpc::StatusCode::UNKNOWN, "no answer");
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool ok = false;
    const auto limit = std::chrono::system_clock::now() + std::chrono::seconds(10);
    return queue_.AsyncNext(&tag, &ok, limit) == grpc::CompletionQueue::GOT_EVENT && ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool opened_ = false;
};

// "/tributary.v1.FusionService/Report" …
std::vector<std::string> AllPaths() {
  // So that the linker keeps their descriptors.
  v1::ReportRequest::default_instance();
  v1::ListNodesRequest::default_instance();
  v1::ParticipateRequest::default_instance();
  v1::ListRunsRequest::default_instance();
  std::vector<std::string> paths;
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const std::string_view name :
       {"FusionService", "FleetService", "FederationService", "RunService", "ModelService"}) {
    const auto* service = pool->FindServiceByName("tributary.v1." + std::string(name));
    if (service == nullptr) continue;
    for (int i = 0; i < service->method_count(); ++i)
      paths.push_back("/" + service->full_name() + "/" + service->method(i)->name());
  }
  paths.push_back("/grpc.health.v1.Health/Check");
  return paths;
}

double OpenCalls(const AggregatorProcess& aggregator) {
  return MetricValue(aggregator.Metrics(), "tributary_calls");
}

TEST(HalfCallTest, EachCallCountsFromItsHeadersOn) {
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"leaf"}, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::vector<std::string> paths = AllPaths();
  ASSERT_EQ(paths.size(), 22u) << "a call was added: it must begin with its headers";
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(aggregator.ingest_port()),
                                           grpc::InsecureChannelCredentials());
  {
    std::deque<HalfCall> calls;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      ASSERT_TRUE(calls.emplace_back(channel, paths[i]).opened()) << paths[i];
      EXPECT_TRUE(WaitFor([&] { return OpenCalls(aggregator) >= static_cast<double>(i + 1); })) << paths[i];
    }
  }
  EXPECT_TRUE(WaitFor([&] { return OpenCalls(aggregator) == 0; })) << "calls that were reset still count";
}

TEST(HalfCallTest, ACallThatEndsWithoutARequestIsRefused) {
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"leaf"}, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(aggregator.ingest_port()),
                                           grpc::InsecureChannelCredentials());
  for (const char* path : {"/tributary.v1.FusionService/Watch", "/tributary.v1.FleetService/ListNodes",
                           "/tributary.v1.FederationService/Participate",
                           "/tributary.v1.FederationService/ShareKeys", "/tributary.v1.RunService/StopRun",
                           "/tributary.v1.ModelService/ReadModel", "/grpc.health.v1.Health/Check"}) {
    HalfCall call(channel, path);
    const grpc::Status status = call.End();
    EXPECT_FALSE(status.ok()) << path;
    EXPECT_NE(status.error_message(), "no answer") << path;
  }
  EXPECT_TRUE(WaitFor([&] { return OpenCalls(aggregator) == 0; }));
}

}  // namespace
}  // namespace tributary::testing
