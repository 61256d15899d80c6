// Peers that violate the protocol. The aggregator refuses each with a reason and serves the others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/estimate/slot_length.h"
#include "tests/faults/hostile_peer.h"
#include "tests/support/fleet.h"
#include "tests/support/raw_call.h"
#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST_F(HostilePeerTest, IsRefusedWithoutAHello) {
  Peer peer(aggregator_.ingest_port());
  peer.Send(Frame(1));
  const grpc::Status status = peer.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("hello"));
  EXPECT_EQ(Refused("hello_missing"), 1);
}

TEST_F(HostilePeerTest, IsRefusedWithAHelloThatDoesNotFit) {
  const auto refused_with = [&](const v1::ReportRequest& hello) {
    Peer peer(aggregator_.ingest_port());
    peer.Send(hello);
    return peer.End().error_code();
  };
  v1::ReportRequest other_site = Hello("south");
  other_site.mutable_hello()->set_site("attic");
  v1::ReportRequest short_boot_id = Hello("south");
  short_boot_id.mutable_hello()->set_boot_id("short");
  EXPECT_EQ(refused_with(other_site), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(refused_with(short_boot_id), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refused_with(Hello("zenith")), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(HostilePeerTest, CannotReportForAPanelOfAnotherNode) {
  Peer owner(aggregator_.ingest_port());
  owner.Send(Hello("south"));
  owner.Receive();
  Peer stranger(aggregator_.ingest_port());
  stranger.Send(Hello("south", "stranger"));
  const grpc::Status status = stranger.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("board"));
  EXPECT_EQ(Refused("source_taken"), 1);
}

TEST_F(HostilePeerTest, KeepsItsStreamWhenItsFramesAreRefused) {
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  v1::ReportRequest nan = Frame(1);
  nan.mutable_frames(0)->set_means(0, std::nanf(""));
  peer.Send(nan);
  const v1::ReportResponse answer = peer.Receive();
  ASSERT_EQ(answer.refusals_size(), 1);
  EXPECT_EQ(answer.refusals(0).reason(), v1::REFUSAL_REASON_NOT_FINITE);
  peer.Send(Frame(2));
  EXPECT_EQ(peer.Receive().acknowledged_sequence(), 2u);
}

TEST_F(HostilePeerTest, CannotFillTheWindowWithThousandsOfEpochs) {
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  const estimate::Epoch now = estimate::SlotLength().EpochAt(UnixNs());
  std::uint64_t sequence = 0;
  for (int message = 0; message < 40; ++message) {
    v1::ReportRequest request;
    for (int i = 0; i < 500; ++i) {
      ++sequence;
      AddFrame(request, sequence, now + 1000 * sequence);
    }
    ASSERT_TRUE(peer.Send(request));
  }
  int refused = 0;
  v1::ReportResponse answer;
  while (answer.acknowledged_sequence() < sequence) {
    answer = peer.Receive();
    refused += answer.refusals_size();
    ASSERT_GT(answer.acknowledged_sequence(), 0u);
  }
  EXPECT_EQ(refused, static_cast<int>(sequence));
}

TEST_F(HostilePeerTest, YieldsToANewerStreamOfItsNode) {
  Peer older(aggregator_.ingest_port());
  older.Send(Hello("south"));
  older.Receive();
  Peer newer(aggregator_.ingest_port());
  newer.Send(Hello("south"));
  newer.Receive();
  // Detected within a second, even if the older stream stays silent.
  const v1::ReportResponse nothing = older.Receive();
  EXPECT_EQ(nothing.acknowledged_sequence(), 0u);
  EXPECT_EQ(older.End().error_code(), grpc::StatusCode::ABORTED);
  newer.Send(Frame(1));
  EXPECT_EQ(newer.Receive().acknowledged_sequence(), 1u);
}

TEST_F(HostilePeerTest, MaySendNoiseInsteadOfHttp2) {
  boost::asio::io_context io;
  for (const std::string& noise :
       {std::string(4096, '\0'), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(4096, '\xff')}) {
    boost::asio::ip::tcp::socket socket(io);
    socket.connect(
        {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(aggregator_.ingest_port())});
    boost::system::error_code error;
    boost::asio::write(socket, boost::asio::buffer(noise), error);
  }
}

TEST_F(HostilePeerTest, MayLeaveStreamsHalfOpen) {
  std::vector<std::unique_ptr<Peer>> silent;
  for (int i = 0; i < 32; ++i) silent.push_back(std::make_unique<Peer>(aggregator_.ingest_port()));
  for (auto& peer : silent) peer->Send(Hello("south", "silent"));
  // They leave silently when the test ends.
}

TEST_F(HostilePeerTest, AsAWatcherThatDoesNotReadIsSkippedAndHoldsUpNobody) {
  grpc::ChannelArguments small_window;  // and one that stays small
  small_window.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small_window.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 65'536);
  auto stub = v1::FusionService::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(aggregator_.ingest_port()),
                                grpc::InsecureChannelCredentials(), small_window));
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_site("room");
  auto watch = stub->Watch(&context, request);
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  std::uint64_t sequence = 0;
  const estimate::Epoch first = estimate::SlotLength().EpochAt(UnixNs()) - 2000;
  // The watch has begun once a slot has come through.
  v1::WatchResponse response;
  std::atomic<bool> watching = false;
  std::jthread begin([&] {
    watch->Read(&response);
    watching = true;
  });
  ASSERT_TRUE(WaitFor([&] {
    peer.Send(Frame(sequence + 1, first + sequence));
    ++sequence;
    return watching.load();
  }));
  begin.join();
  const std::uint64_t before = response.slot().epoch() - first + 1;
  // More than its ring and all windows on the way can hold.
  for (int message = 0; message < 100; ++message) {
    v1::ReportRequest frames;
    for (int i = 0; i < 10; ++i) {
      AddFrame(frames, sequence + 1, first + sequence);
      v1::Frame& frame = *frames.mutable_frames(frames.frames_size() - 1);
      for (std::uint32_t subject = 2; subject <= 64; ++subject) {
        frame.add_subjects(subject);
        for (float value : {1.0f, 2.0f}) frame.add_means(value);
        for (float value : {0.1f, 0.0f, 0.1f}) frame.add_cholesky(value);
      }
      ++sequence;
    }
    ASSERT_TRUE(peer.Send(frames));
  }
  while (peer.Receive().acknowledged_sequence() < sequence) {
  }
  EXPECT_GT(MetricValue(aggregator_.Metrics(), "tributary_watch_skipped_slots_total"), 0);
  // When it reads at last, it gets the present slot and the number that it missed.
  std::uint64_t seen = before;
  while (seen < sequence && watch->Read(&response)) seen += 1 + response.skipped_slots();
  EXPECT_EQ(seen, sequence);
  EXPECT_EQ(response.slot().epoch(), first + sequence - 1);
  context.TryCancel();
  watch->Finish();
}

TEST_F(HostilePeerTest, CanAskWhoReports) {
  auto stub = v1::FleetService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(aggregator_.ingest_port()), grpc::InsecureChannelCredentials()));
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  grpc::ClientContext context;
  v1::ListNodesResponse nodes;
  ASSERT_TRUE(stub->ListNodes(&context, v1::ListNodesRequest(), &nodes).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_TRUE(nodes.nodes(0).connected());
}

TEST_F(HostilePeerTest, IsCountedWhenItCallsWhatNobodyServes) {
  const auto channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(aggregator_.ingest_port()),
                                           grpc::InsecureChannelCredentials());
  for (const char* path : {"/tributary.v1.FusionService/Guess", "/nobody.Serves/This"}) {
    RawCall call(channel, path, "", true, seconds(10));
    EXPECT_EQ(call.End().error_code(), grpc::StatusCode::UNIMPLEMENTED) << path;
  }
  EXPECT_EQ(MetricValue(aggregator_.Metrics(), "tributary_calls_unknown_total"), 2);
}

}  // namespace
}  // namespace tributary::testing
