// What a node says of itself reaches the aggregator also while no panel has a frame.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "core/link/uplink.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/wire/hello.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::link {
namespace {

// Answers the hello and remembers the first status.
class StatusKeeper final : public v1::FusionService::Service {
 public:
  grpc::Status Report(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ReportResponse, v1::ReportRequest>* stream) override {
    v1::ReportRequest request;
    while (stream->Read(&request)) {
      v1::ReportResponse response;
      response.set_slot_ns(500'000);
      if (request.has_hello()) stream->Write(response);
      const std::lock_guard lock(mutex_);
      if (request.has_status()) kept_ = request;
      changed_.notify_all();
    }
    return grpc::Status::OK;
  }

  std::optional<v1::ReportRequest> Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [this] { return kept_.has_value(); });
    return kept_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::ReportRequest> kept_;
};

TEST(UplinkStatusTest, AStatusGoesOutWithoutFramesAndWithTheStateOfTheSpool) {
  StatusKeeper keeper;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&keeper);
  const auto server = builder.BuildAndStart();
  v1::Hello hello;
  hello.set_site("lab");
  hello.set_node("board");
  hello.set_boot_id(wire::NewBootId());
  wire::AddSource(hello, "south", 2, {"south"});
  const runtime::SystemClock clock;
  runtime::Metrics metrics;
  UplinkOptions options;
  options.aggregator = "127.0.0.1:" + std::to_string(port);
  auto uplink = Uplink::Create(options, hello, clock, metrics);
  ASSERT_TRUE(uplink.ok()) << uplink.status();
  v1::NodeStatus status;
  status.set_version("9.9");
  status.set_held_frames(77);
  (*uplink)->SayStatus(status);
  const std::optional<v1::ReportRequest> said = keeper.Wait();
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->frames_size(), 0);
  EXPECT_EQ(said->status().version(), "9.9");
  EXPECT_EQ(said->status().held_frames(), 0u) << "the uplink knows better";
  EXPECT_EQ((*uplink)->counters().messages, 0u) << "of frames";
  (*uplink)->Stop(std::chrono::milliseconds(0));
  server->Shutdown(std::chrono::system_clock::now());
}

}  // namespace
}  // namespace tributary::link
