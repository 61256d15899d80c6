// A node whose front end sends datagrams that it cannot use.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"
#include "core/runtime/clock.h"
#include "node/source/udp_datagram.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kOfEach = 50;

class UdpNodeTest : public ::testing::Test {
 protected:
  // `front_end` empty: any.
  void Start(const std::string& front_end) {
    const std::string config = folder_.Write(
        "node.toml",
        fmt::format("node = \"south\"\nsite = \"room\"\n[uplink]\ndrain_s = 0.0\n[http]\n"
                    "listen = \"127.0.0.1:{}\"\n[[panel]]\nname = \"south\"\n"
                    "model = \"{}/models/positioning.safetensors\"\n[panel.source]\nkind = \"udp\"\n"
                    "port = 0\npanel = 3\nfront_end = \"{}\"\n",
                    http_port_, TRIBUTARY_SOURCE_DIR, front_end));
    node_ = std::make_unique<Process>(
        "tributary-node",
        std::vector<std::string>{"--config", config, "--summary", folder_.Path("summary.json")},
        folder_.Path("node.log"));
    ASSERT_TRUE(WaitFor([this] { return Metric("tributary_udp_port{panel=\"south\"}") > 0; }))
        << node_->Log();
    port_ = static_cast<std::uint16_t>(Metric("tributary_udp_port{panel=\"south\"}"));
  }
  double Metric(const std::string& name) const { return MetricValue(HttpGet(http_port_, "/metrics"), name); }
  double Unused(const std::string& reason) const {
    return Metric("tributary_udp_datagrams_unused_total{panel=\"south\",reason=\"" + reason + "\"}");
  }

  void Send(const std::string& datagram) const {
    const int sender = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < kOfEach; ++i) {
      sendto(sender, datagram.data(), datagram.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
    }
    close(sender);
  }
  // The whole subject; valid unless changed.
  static source::UdpFragment Good() {
    return {.panel = 3,
            .epoch = estimate::SlotLength().EpochAt(runtime::SystemClock().UnixNs()),
            .captured_unix_ns = runtime::SystemClock().UnixNs(),
            .subject = 1,
            .subjects = 2,
            .width = 1024,
            .first = 0,
            .count = 300,
            .payload = {}};
  }
  static std::string Bytes(const source::UdpFragment& fragment) {
    return source::EncodeUdpFragment(fragment, std::vector<float>(fragment.count));
  }

  ScratchFolder folder_;
  const int http_port_ = ReservePort();
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> node_;
};

TEST_F(UdpNodeTest, CountsAndSaysEveryDatagramThatItDoesNotUse) {
  Start("");
  EXPECT_THAT(node_->Log(), HasSubstr(fmt::format("takes datagrams on 127.0.0.1 port {}", port_)));
  std::map<std::string, std::string> bad;
  bad["header"] = "noise";
  bad["magic"] = Bytes(Good());
  bad["magic"][0] = 'X';
  bad["version"] = Bytes(Good());
  bad["version"][4] = 2;
  source::UdpFragment other = Good();
  other.panel = 4;
  bad["panel"] = Bytes(other);
  other = Good();
  other.epoch -= 1'000'000;
  bad["epoch"] = Bytes(other);
  other = Good();
  other.captured_unix_ns = 0;
  bad["captured"] = Bytes(other);
  other = Good();
  other.width = 512;
  bad["width"] = Bytes(other);
  for (const auto& [reason, datagram] : bad) Send(datagram);
  for (const auto& [reason, datagram] : bad) {
    EXPECT_TRUE(WaitFor([&, name = reason] { return Unused(name) == kOfEach; })) << reason << Unused(reason);
  }
  EXPECT_EQ(Metric("tributary_udp_datagrams_total{panel=\"south\"}"), static_cast<int>(bad.size()) * kOfEach);

  node_->Signal(SIGTERM);
  ASSERT_EQ(node_->Wait(std::chrono::seconds(20)), 0) << node_->Log();
  const std::string log = node_->Log();
  EXPECT_THAT(log, HasSubstr("width (found 512, expected 1024, from 127.0.0.1 port "));
  std::size_t lines = 0;
  for (std::size_t at = log.find("not used: "); at != std::string::npos; at = log.find("not used: ", at + 1))
    ++lines;
  EXPECT_GE(lines, 1u);
  EXPECT_LE(lines, 3u) << log;
  const auto summary = nlohmann::json::parse(ReadText(folder_.Path("summary.json")));
  EXPECT_EQ(summary["udp"]["unused_datagrams"], static_cast<int>(bad.size()) * kOfEach);
  EXPECT_EQ(summary["udp"]["unused_datagrams_by_reason"]["magic"], kOfEach);
}

// The thread that ends a node while its files load still took the signal ten milliseconds after the start:
// the node left without its account.
TEST_F(UdpNodeTest, AccountsForItselfHoweverEarlyItIsStopped) {
  for (int i = 0; i < 5; ++i) {
    Start("");
    node_->Signal(SIGTERM);
    ASSERT_EQ(node_->Wait(std::chrono::seconds(20)), 0) << node_->Log();
    EXPECT_EQ(nlohmann::json::parse(ReadText(folder_.Path("summary.json")))["udp"]["datagrams"], 0);
    unlink(folder_.Path("summary.json").c_str());
  }
}

TEST_F(UdpNodeTest, CountsStrangers) {
  Start("127.0.0.2");
  Send(Bytes(Good()));
  EXPECT_TRUE(WaitFor([&] { return Unused("sender") == kOfEach; })) << Unused("sender");
}

}  // namespace
}  // namespace tributary::testing
