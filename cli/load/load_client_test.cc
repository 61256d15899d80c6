#include "cli/load/load_client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>

#include "core/runtime/mutex.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::cli {
namespace {

// Answers no panel before all of them have said hello.
class PatientAggregator : public v1::FusionService::Service {
 public:
  explicit PatientAggregator(std::uint32_t panels) : awaited_(panels) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~PatientAggregator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

  grpc::Status Report(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>* stream) override {
    v1::ReportRequest request;
    stream->Read(&request);
    AwaitAll(1);
    stream->Write(v1::ReportResponse());
    while (stream->Read(&request)) continue;
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>*) override {
    AwaitAll(0);
    return grpc::Status::OK;
  }

 private:
  // Longer than the client's patience, which then ends the test.
  void AwaitAll(std::uint32_t arrived) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    runtime::MutexLock lock(mutex_);
    awaited_ -= arrived;
    if (awaited_ == 0) all_here_.notify_all();
    while (awaited_ > 0 && all_here_.wait_until(lock, deadline) == std::cv_status::no_timeout) continue;
  }

  runtime::Mutex mutex_;
  std::condition_variable_any all_here_;
  std::uint32_t awaited_ GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

TEST(LoadClientTest, OpensTheStreamsOfAllPanelsTogether) {
  LoadPlan plan;
  plan.panels = 4;
  PatientAggregator aggregator(plan.panels);
  plan.connection.aggregator = aggregator.address();
  const auto client = LoadClient::Connect(plan);
  EXPECT_TRUE(client.ok()) << client.status();
}

TEST(LoadClientTest, TellsWhatTheAggregatorSaysToAPanel) {
  class : public v1::FusionService::Service {
    grpc::Status Report(grpc::ServerContext*,
                        grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>*) override {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such site");
    }
  } aggregator;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&aggregator);
  const auto server = builder.BuildAndStart();
  LoadPlan plan;
  plan.connection.aggregator = "127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(LoadClient::Connect(plan).status().message(), plan.connection.aggregator + ": no such site");
}

}  // namespace
}  // namespace tributary::cli
