// Messages that are large, or become large in memory. The aggregator refuses each before it is parsed, and
// keeps nothing of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/faults/hostile_peer.h"
#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

class LargeMessageTest : public HostilePeerTest {};

TEST_F(LargeMessageTest, IsRefusedAMessageThatIsTooLarge) {
  for (std::size_t bytes : {std::size_t{3} << 19, std::size_t{8} << 20}) {
    Peer peer(aggregator_.ingest_port());
    peer.Send(Hello("south"));
    peer.Receive();
    v1::ReportRequest large = Frame(1);
    large.mutable_frames(0)->mutable_means()->Resize(static_cast<int>(bytes / sizeof(float)), 0);
    peer.Send(large);
    EXPECT_EQ(peer.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(Refused("too_large"), 1);  // the larger one is cut by gRPC
}

// Each two bytes would be a field of a hundred in memory, parsed by the thread that fuses.
TEST_F(LargeMessageTest, IsRefusedRequestsOfThousandsOfFields) {
  const auto channel = grpc::CreateChannel(fmt::format("127.0.0.1:{}", aggregator_.ingest_port()),
                                           grpc::InsecureChannelCredentials());
  const auto unknown = [](google::protobuf::Message& message, int fields) {
    for (int i = 0; i < fields; ++i)
      message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(15, "");
  };
  const auto list = [&](int fields) {
    grpc::ClientContext context;
    v1::ListNodesRequest request;
    unknown(request, fields);
    v1::ListNodesResponse response;
    return v1::FleetService::NewStub(channel)->ListNodes(&context, request, &response);
  };
  const auto watch = [&](int fields) {
    grpc::ClientContext context;
    v1::WatchRequest request;
    request.set_site("nowhere");
    unknown(request, fields);
    const auto reader = v1::FusionService::NewStub(channel)->Watch(&context, request);
    v1::WatchResponse response;
    reader->Read(&response);
    return reader->Finish();
  };
  EXPECT_TRUE(list(100).ok());
  EXPECT_EQ(watch(100).error_code(), grpc::StatusCode::NOT_FOUND);
  for (const int fields : {200, 100'000}) {
    EXPECT_THAT(list(fields).error_message(), HasSubstr("too large")) << fields;
    EXPECT_THAT(watch(fields).error_message(), HasSubstr("too large")) << fields;
  }
}

// The message is parsed into again and again, and each of its frames would keep the room that it once had.
TEST_F(LargeMessageTest, TakesNoMemoryByMessagesOfWhichAnotherFrameIsLargeEachTime) {
  constexpr int kMessages = 256, kBytes = 128 << 10;
  const auto resident = [&] { return MetricValue(aggregator_.Metrics(), "process_resident_memory_bytes"); };
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  const double before = resident();
  std::uint64_t sequence = 0;
  for (int i = 0; i < kMessages; ++i) {
    v1::ReportRequest message;
    for (int frame = 0; frame <= i; ++frame) message.add_frames()->set_sequence(++sequence);
    message.mutable_frames(i)->mutable_means()->Resize(kBytes / sizeof(float), 0);
    peer.Send(message);
    std::uint64_t acknowledged = 0;
    for (int answers = 0; acknowledged < sequence && answers <= i; ++answers) {
      acknowledged = peer.Receive().acknowledged_sequence();
    }
    ASSERT_EQ(acknowledged, sequence) << i;
  }
  EXPECT_LT(resident() - before, 0.25 * kMessages * kBytes);
}

// Each held the thread that fuses for some 15 to 30 ms.
TEST_F(LargeMessageTest, IsRefusedAHelloOfThousandsOfLeavesAndFramesOfUnknownFields) {
  v1::ReportRequest large = Hello("south");
  for (int i = 0; i < 20'000; ++i) large.mutable_hello()->mutable_sources(0)->add_leaves("leaf");
  Peer talker(aggregator_.ingest_port());
  talker.Send(large);
  EXPECT_THAT(talker.End().error_message(), HasSubstr("hello: "));
  EXPECT_EQ(Refused("too_large"), 1);
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  v1::ReportRequest strange = Frame(1);
  std::string unknown;
  for (int i = 0; i < 100'000; ++i) unknown += "\x78\x01";  // field 15, a varint
  ASSERT_TRUE(strange.mutable_frames(0)->MergeFromString(unknown));
  peer.Send(strange);
  EXPECT_THAT(peer.End().error_message(), HasSubstr("16384 fields"));
  EXPECT_EQ(Refused("too_large"), 2);
}

// Read as a message, each of these texts begins with a group, which no message may have.
TEST_F(LargeMessageTest, TakesTextsThatLookLikeMessages) {
  Peer peer(aggregator_.ingest_port());
  v1::ReportRequest hello = Hello("south", "kitchen");
  hello.mutable_hello()->set_boot_id(std::string(16, '{'));
  const std::string later(3'000, 's');
  hello.mutable_hello()
      ->GetReflection()
      ->MutableUnknownFields(hello.mutable_hello())
      ->AddLengthDelimited(15, later);
  peer.Send(hello);
  peer.Receive();
  v1::ReportRequest frame = Frame(1);
  for (int i = 0; i < 16; ++i) frame.mutable_status()->add_problems("sensor " + std::string(240, 's'));
  peer.Send(frame);
  EXPECT_EQ(peer.Receive().acknowledged_sequence(), 1u);
  EXPECT_EQ(Refused("too_large"), 0);
}

TEST_F(LargeMessageTest, CannotMakeMemoryGrowWithEmptyFrames) {
  const std::string resident = "process_resident_memory_bytes";
  const double before = MetricValue(aggregator_.Metrics(), resident);
  Peer peer(aggregator_.ingest_port());
  peer.Send(Hello("south"));
  peer.Receive();
  v1::ReportRequest empty;
  for (int i = 0; i < 400'000; ++i) empty.add_frames();  // 2 bytes each on the wire, over 100 in memory
  peer.Send(empty);
  EXPECT_EQ(peer.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LT(MetricValue(aggregator_.Metrics(), resident), before + (16 << 20));
}

}  // namespace
}  // namespace tributary::testing
