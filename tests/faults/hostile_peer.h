// A peer that is driven step by step, and the aggregator that it violates the protocol of.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "core/estimate/slot_length.h"
#include "tests/support/fleet.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::testing {

inline std::int64_t UnixNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Drives a Report stream step by step.
class Peer {
 public:
  explicit Peer(int port) {
    stub_ = v1::FusionService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Report(&context_);
  }
  ~Peer() { context_.TryCancel(); }

  bool Send(const v1::ReportRequest& request) { return stream_->Write(request); }
  v1::ReportResponse Receive() {
    v1::ReportResponse response;
    stream_->Read(&response);
    return response;
  }
  // The status that ended the stream.
  grpc::Status End() {
    stream_->WritesDone();
    v1::ReportResponse ignored;
    while (stream_->Read(&ignored)) {
    }
    return stream_->Finish();
  }

 private:
  std::unique_ptr<v1::FusionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ReportRequest, v1::ReportResponse>> stream_;
};

inline v1::ReportRequest Hello(const std::string& leaf, const std::string& node = "board") {
  v1::ReportRequest request;
  v1::Hello& hello = *request.mutable_hello();
  hello.set_site("room");
  hello.set_node(node);
  hello.set_boot_id(std::string(16, 'b'));
  v1::Source& source = *hello.add_sources();
  source.set_name(leaf);
  source.set_dimension(2);
  source.add_leaves(leaf);
  return request;
}

inline void AddFrame(v1::ReportRequest& request, std::uint64_t sequence, estimate::Epoch epoch) {
  v1::Frame& frame = *request.add_frames();
  frame.set_sequence(sequence);
  frame.set_epoch(epoch);
  frame.set_captured_unix_ns(UnixNs());
  frame.add_subjects(1);
  for (float value : {1.0f, 2.0f}) frame.add_means(value);
  for (float value : {0.1f, 0.0f, 0.1f}) frame.add_cholesky(value);
}

inline v1::ReportRequest Frame(std::uint64_t sequence,
                               estimate::Epoch epoch = estimate::SlotLength().EpochAt(UnixNs())) {
  v1::ReportRequest request;
  AddFrame(request, sequence, epoch);
  return request;
}

class HostilePeerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }
  // After every case an honest node is served, and the aggregator stops in time.
  void TearDown() override {
    Peer honest(aggregator_.ingest_port());
    v1::ReportRequest hello = Hello("south");  // supersedes a stream that a test left behind
    hello.mutable_hello()->set_boot_id(std::string(16, 'h'));
    honest.Send(hello);
    honest.Receive();
    honest.Send(Frame(1));
    EXPECT_EQ(honest.Receive().acknowledged_sequence(), 1u);
    EXPECT_TRUE(honest.End().ok());
    aggregator_.process().Signal(SIGTERM);
    EXPECT_EQ(aggregator_.process().Wait(std::chrono::seconds(10)), 0) << aggregator_.process().Log();
  }
  double Refused(const std::string& reason) const {
    return MetricValue(aggregator_.Metrics(), "tributary_streams_refused_total{reason=\"" + reason + "\"}");
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}};
};

}  // namespace tributary::testing
