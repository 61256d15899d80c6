// gRPC reads and parses by the functions that this module defines.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "aggregator/server/first_words.h"
#include "aggregator/server/frame_scan.h"
#include "aggregator/server/ingest_server.h"
#include "aggregator/server/read_cost.h"
#include "aggregator/server/read_turn.h"
#include "core/runtime/clock.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/metrics.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

// The peer is none of gRPC's: any thread that waits in gRPC
// reads any of its connections.
class ReadsOfGrpcTest : public ::testing::Test {
 protected:
  ReadsOfGrpcTest() {
    IngestOptions options;
    options.listen = "127.0.0.1:0";
    server_ = *IngestServer::Start(options, state_);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    EXPECT_EQ(connect(peer_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    Send(std::string(kHttp2Preface) + kSettings);
  }
  void Send(const std::string& bytes) const {
    EXPECT_EQ(send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  const std::string kSettings{"\0\0\0\4\0\0\0\0\0", kFrameHeaderBytes};
  const std::string kAcknowledged{"\0\0\0\4\1\0\0\0\0", kFrameHeaderBytes};
  runtime::SystemClock clock_;
  publish::AggregatorState state_{clock_};
  std::unique_ptr<IngestServer> server_;
  const runtime::Descriptor peer_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(ReadsOfGrpcTest, AreCharged) {
  EXPECT_TRUE(testing::WaitFor([&] {
    send(peer_.get(), kSettings.data(), kSettings.size(), MSG_NOSIGNAL);
    for (int fd = 0; fd < 1024; ++fd) {
      const std::optional<ReadCost> cost = ReadCostOf({fd, InodeOf(fd)});
      if (cost && cost->bytes > kHttp2Preface.size() + kSettings.size()) return true;
    }
    return false;
  }));
}

TEST_F(ReadsOfGrpcTest, GoOnUntilAllIsReadThoughTheyGiveWay) {
  constexpr std::size_t kFrames = 30 * ReadTurn::kLeast / kFrameHeaderBytes;
  std::string frames;
  for (std::size_t i = 0; i < kFrames; ++i) frames += kSettings;
  Send(frames);
  std::string answers;
  std::size_t acknowledged = 0;
  EXPECT_TRUE(testing::WaitFor([&] {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) answers.append(bytes.data(), static_cast<std::size_t>(got));
    acknowledged = 0;
    for (std::size_t at = 0; (at = answers.find(kAcknowledged, at)) != std::string::npos; ++at)
      ++acknowledged;
    return acknowledged == kFrames + 1;
  })) << acknowledged;
}

// It would wait for the rest of the header.
TEST_F(ReadsOfGrpcTest, EndWithAHeaderThatIsTooLong) {
  constexpr std::size_t kPart = 10'000;
  static_assert(2 * kPart > FrameScan::kMostHeaderBytes);
  const auto frame = [](char type) {
    const std::string head{'\0', static_cast<char>(kPart >> 8), static_cast<char>(kPart & 0xff), type};
    return head + std::string("\0\0\0\0\1", 5) + std::string(kPart, 'a');
  };
  constexpr char kOfHeaders = 1, kOfContinuation = 9;
  Send(frame(kOfHeaders) + frame(kOfContinuation));
  EXPECT_TRUE(testing::WaitFor([&] {
    std::array<char, 4096> bytes{};
    const ssize_t got = recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }));
  runtime::Metrics metrics;
  metrics.AddCollector([this](runtime::Reading& reading) { server_->Collect(reading); });
  EXPECT_TRUE(testing::WaitFor([&] {
    return metrics.Text().find("tributary_connections_refused_total{reason=\"long_header\"} 1\n") !=
           std::string::npos;
  })) << metrics.Text();
}

}  // namespace
}  // namespace tributary::server
