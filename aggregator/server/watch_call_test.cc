// A reader's stream against the ingest server itself: the test publishes the slots, so nothing else moves.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "aggregator/server/ingest_server.h"
#include "core/estimate/slot_length.h"
#include "core/link/channel.h"
#include "core/link/watcher.h"
#include "core/runtime/metrics.h"

namespace tributary::server {
namespace {

// Far longer than a loaded machine needs, far shorter than the ten seconds after which the server's keepalive
// would flush a buffered write.
constexpr std::chrono::seconds kPatience{5};

std::vector<estimate::FusedSlot> Slots(estimate::Epoch first, std::size_t count, std::size_t subjects = 1) {
  std::vector<estimate::FusedSlot> slots(count);
  for (std::size_t i = 0; i < count; ++i) {
    slots[i].epoch = first + i;
    slots[i].fused_unix_ns = estimate::SlotLength().StartNs(first + i);
    slots[i].captured_unix_ns = estimate::SlotLength().StartNs(first + i);
    for (std::size_t subject = 0; subject < subjects; ++subject) {
      slots[i].subjects.push_back(static_cast<std::uint32_t>(subject));
      slots[i].means.insert(slots[i].means.end(), {1, 2});
      slots[i].cholesky.insert(slots[i].cholesky.end(), {1, 0, 1});
      slots[i].contributors.push_back(1);
      slots[i].consistency.push_back(0);
    }
  }
  return slots;
}

// Watches the site "lab" on its own connection. No pings: what arrives was written and flushed.
class Reader {
 public:
  explicit Reader(int port) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = v1::FusionService::NewStub(grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
    thread_ = std::thread([this] {
      v1::WatchRequest request;
      request.set_site("lab");
      const auto stream = stub_->Watch(&context_, request);
      stream->WaitForInitialMetadata();
      {
        const std::lock_guard lock(mutex_);
        open_ = true;
      }
      changed_.notify_all();
      v1::WatchResponse response;
      while (stream->Read(&response)) {
        const std::lock_guard lock(mutex_);
        if (response.has_slot()) epochs_.push_back(response.slot().epoch());
        changed_.notify_all();
      }
      stream->Finish();
    });
  }
  ~Reader() {
    context_.TryCancel();
    thread_.join();
  }

  // Waits until the aggregator has accepted this reader, which then gets every slot. False after kPatience.
  bool AwaitOpen() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return open_; });
  }

  // The received epochs, in order, once they are `count`; fewer after kPatience.
  std::vector<estimate::Epoch> Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return epochs_.size() >= count; });
    return epochs_;
  }

 private:
  std::unique_ptr<v1::FusionService::Stub> stub_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<estimate::Epoch> epochs_;
  bool open_ = false;
  std::thread thread_;
};

class WatchCallTest : public ::testing::Test {
 protected:
  explicit WatchCallTest(const ConnectionLimits& limits = {}) {
    fusion::SiteConfig config;
    config.name = "lab";
    config.leaves = {"north"};
    state_.sites.Add(*fusion::FusionEngine::Create(config), "", metrics_);
    IngestOptions options;
    options.listen = "127.0.0.1:0";
    options.connections = limits;
    server_ = *IngestServer::Start(options, state_);
  }

  void Publish(const std::vector<estimate::FusedSlot>& slots) {
    state_.sites.Find("lab")->feed().Publish(slots);
  }

  runtime::SystemClock clock_;
  runtime::Metrics metrics_;
  publish::AggregatorState state_{clock_};
  std::unique_ptr<IngestServer> server_;
};

// A burst, as when slots reach their deadline together, and then silence.
TEST_F(WatchCallTest, TheFirstBurstOfANewStreamArrivesWithoutAnyFurtherTraffic) {
  Reader reader(server_->port());
  ASSERT_TRUE(reader.AwaitOpen());
  Publish(Slots(100, 3));
  EXPECT_EQ(reader.Await(3), (std::vector<estimate::Epoch>{100, 101, 102}));
}

TEST_F(WatchCallTest, EveryLaterBurstArrivesWhole) {
  Reader reader(server_->port());
  ASSERT_TRUE(reader.AwaitOpen());
  for (estimate::Epoch burst = 0; burst < 20; ++burst) {
    Publish(Slots(100 * (burst + 1), 5, 200));
    ASSERT_EQ(reader.Await(5 * (burst + 1)).size(), 5 * (burst + 1)) << "burst " << burst;
  }
}

// Connections may send half a kilobyte that nothing is heard of.
class WatchCallOfTerseTest : public WatchCallTest {
 protected:
  static constexpr ConnectionLimits kTerse{.unheard_bytes = 512, .unheard_bytes_per_look = 0};
  WatchCallOfTerseTest() : WatchCallTest(kTerse) {}
};

// It answers each slot with window updates, here 26 kB of them.
TEST_F(WatchCallOfTerseTest, ReadersOfManySlotsAreNotTakenForAttackers) {
  constexpr std::size_t kSlots = 1'000;
  Reader reader(server_->port());
  ASSERT_TRUE(reader.AwaitOpen());
  for (std::size_t read = 1; read <= kSlots; ++read) {
    Publish(Slots(100 + read, 1));
    ASSERT_EQ(reader.Await(read).size(), read);
  }
  // The door has looked at all of it.
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  Publish(Slots(101 + kSlots, 1));
  EXPECT_EQ(reader.Await(kSlots + 1).size(), kSlots + 1);
}

}  // namespace
}  // namespace tributary::server
