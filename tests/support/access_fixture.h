// Calls of every kind to an aggregator whose certificates have one role each.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/link/channel.h"
#include "tests/support/access.h"
#include "tests/support/raw_call.h"
#include "tests/support/reporter.h"
#include "tributary/v1/federation.pb.h"
#include "tributary/v1/fleet.pb.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::testing {

using std::chrono::milliseconds;

class AccessFixture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(guarded_.Start()) << guarded_.aggregator().process().Log(); }

  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& name) const {
    return link::MakeChannel(guarded_.address(), guarded_.certificates().Material(name));
  }
  std::unique_ptr<RawCall> Call(const std::string& name, const std::string& path,
                                const google::protobuf::Message& request, bool half_close = true) const {
    return std::make_unique<RawCall>(ChannelOf(name), path, request.SerializeAsString(), half_close,
                                     std::chrono::seconds(20));
  }
  std::unique_ptr<RawCall> Watch(const std::string& name) const {
    v1::WatchRequest request;
    request.set_site("room");
    return Call(name, "/tributary.v1.FusionService/Watch", request);
  }
  std::unique_ptr<RawCall> Report(const std::string& name, const std::string& leaf) const {
    v1::ReportRequest request;
    request.mutable_hello()->set_site("room");
    request.mutable_hello()->set_node(name);
    request.mutable_hello()->set_boot_id(wire::NewBootId());
    wire::AddSource(*request.mutable_hello(), leaf, 2, {leaf});
    return Call(name, "/tributary.v1.FusionService/Report", request, false);
  }
  std::unique_ptr<RawCall> Participate(const std::string& name, bool partial_sums = false) const {
    v1::ParticipateRequest request;
    request.set_node(name);
    request.set_boot_id(wire::NewBootId());
    request.add_workloads("self_supervised");
    request.set_partial_sums(partial_sums);
    return Call(name, "/tributary.v1.FederationService/Participate", request);
  }
  std::unique_ptr<RawCall> Reflect(const std::string& name) const {
    return Call(name, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                v1::ListNodesRequest(), false);
  }
  double Value(const std::string& metric) { return MetricValue(guarded_.aggregator().Metrics(), metric); }
  // Returns how long the streams take to end, from the moment before `act`.
  static milliseconds EndedAfter(const std::function<void()>& act, const std::vector<RawCall*>& streams) {
    const auto before = std::chrono::steady_clock::now();
    act();
    for (RawCall* stream : streams) {
      while (stream->Read()) {
      }
      stream->End();
    }
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before);
  }

  ScratchFolder folder_;
  GuardedAggregator guarded_{folder_};
};

}  // namespace tributary::testing
