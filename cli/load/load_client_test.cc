#include "cli/load/load_client.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/failure.h"
#include "core/runtime/latency.h"
#include "core/runtime/mutex.h"
#include "core/runtime/process.h"
#include "core/wire/peer.h"
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

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* stream) override {
    context->AddInitialMetadata(wire::kWatchAdmitted, "admitted");
    stream->SendInitialMetadata();
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
    grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                       grpc::ServerWriter<v1::WatchResponse>*) override {
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

// Takes what panels report and ends each Watch stream with `end`: refused, or admitted and ended at the first
// frame.
class WatchEndingAggregator : public v1::FusionService::Service {
 public:
  WatchEndingAggregator(grpc::Status end, bool admits) : end_(std::move(end)), admits_(admits) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    plan_.panels = 1;
    plan_.connection.aggregator = "127.0.0.1:" + std::to_string(port);
  }
  ~WatchEndingAggregator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const LoadPlan& plan() const { return plan_; }
  int watches() const { return watches_; }

  grpc::Status Report(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>* stream) override {
    v1::ReportRequest request;
    stream->Read(&request);
    stream->Write(v1::ReportResponse());
    while (stream->Read(&request)) frames_ += 1;
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* stream) override {
    watches_ += 1;
    if (!admits_) return end_;
    const int before = frames_;
    context->AddInitialMetadata(wire::kWatchAdmitted, "admitted");
    stream->SendInitialMetadata();
    while (frames_ == before && !context->IsCancelled()) std::this_thread::yield();
    return end_;
  }

 private:
  const grpc::Status end_;
  const bool admits_;
  std::atomic<int> watches_ = 0, frames_ = 0;
  LoadPlan plan_;
  std::unique_ptr<grpc::Server> server_;
};

const grpc::Status kNoViewer(grpc::StatusCode::PERMISSION_DENIED, "\"board\" may not call Watch");

TEST(LoadClientTest, TellsWhyItMayNotWatch) {
  const WatchEndingAggregator aggregator(kNoViewer, false);
  const absl::Status status = LoadClient::Connect(aggregator.plan()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(status.message(), aggregator.plan().connection.aggregator + ": \"board\" may not call Watch");
  EXPECT_EQ(ExitCode(status), runtime::kExitFailure);
}

TEST(LoadClientTest, EndsAtOnceWithTheReasonIfItMayNoLongerWatch) {
  const WatchEndingAggregator aggregator(kNoViewer, true);
  const auto client = LoadClient::Connect(aggregator.plan());
  ASSERT_TRUE(client.ok()) << client.status();
  runtime::LatencyHistogram latency;
  const auto began = std::chrono::steady_clock::now();
  const absl::Status status = (*client)->Run(std::chrono::minutes(1), {}, latency);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_EQ(aggregator.watches(), 1);
  EXPECT_EQ((*client)->counts().reconnections, 0u);
}

TEST(LoadClientTest, PausesBeforeItOpensStreamsAgain) {
  const WatchEndingAggregator aggregator({grpc::StatusCode::UNAVAILABLE, "busy"}, true);
  const auto client = LoadClient::Connect(aggregator.plan());
  ASSERT_TRUE(client.ok()) << client.status();
  runtime::LatencyHistogram latency;
  EXPECT_TRUE((*client)->Run(std::chrono::milliseconds(600), {}, latency).ok() || aggregator.watches() > 1);
  // At least 10, 20, 40, 80 and 160 ms lie between them.
  EXPECT_GE(aggregator.watches(), 2);
  EXPECT_LE(aggregator.watches(), 7);
}

}  // namespace
}  // namespace tributary::cli
