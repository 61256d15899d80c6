#include "aggregator/learning/service/upload_pace.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "aggregator/learning/service/gate_fixture.h"

namespace tributary::learning {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kFullChunk = parameters::kMaxChunkBytes;

TEST(UploadPaceTest, TheFirstChunkHasItsTime) {
  UploadPace pace;
  EXPECT_FALSE(pace.TooSlow(1'000 * kSecond)) << "it has no place yet";
  pace.Begin(100 * kSecond);
  EXPECT_FALSE(pace.TooSlow(120 * kSecond));
  EXPECT_TRUE(pace.TooSlow(121 * kSecond));
}

TEST(UploadPaceTest, AChunkEvery15SecondsIsNotSlow) {
  UploadPace pace;
  pace.Begin(0);
  for (std::int64_t s = 0; s < 1'500; s += 5) {
    if (s % 15 == 0 && s > 0) pace.Take(kFullChunk);
    EXPECT_FALSE(pace.TooSlow(s * kSecond)) << s;
  }
}

TEST(UploadPaceTest, AFewBytesEverySecondAreSlow) {
  UploadPace pace;
  pace.Begin(0);
  std::int64_t s = 0;
  while (!pace.TooSlow(s * kSecond) && s < 100) {
    pace.Take(4'096);
    ++s;
  }
  EXPECT_EQ(s, 22);
}

// Uploads of four chunks to a gate with eight places, every five seconds looked at as SubmitCall does it.
class SlowLinkTest : public GateFixture {
 protected:
  static constexpr std::size_t kPlaces = 8;
  static constexpr std::int64_t kLookNs = 5 * kSecond;
  static constexpr std::int64_t kChunks = 4;

  struct Sender {
    Sender(std::string named, std::int64_t each_ns) : name(std::move(named)), chunk_ns(each_ns) {}

    const std::string name;
    const std::int64_t chunk_ns;
    std::optional<Gate::Place> place = {};
    std::optional<UploadPace> pace = {};
    std::int64_t chunks = 0;
    std::int64_t since_ns = 0;
    bool done = false;
    int cuts = 0;
  };

  SlowLinkTest() : GateFixture(kPlaces) {}
  ~SlowLinkTest() override {
    Do([this] {
      ending_ = true;
      for (Sender& each : senders_) each.place.reset();
    });
    thread_.Stop();  // those who wait enter meanwhile
  }

  void Add(const std::string& name, std::int64_t chunk_ns) { Enter(senders_.emplace_back(name, chunk_ns)); }
  void Enter(Sender& sender) {
    gate_.Enter(sender.name, 1, [this, &sender](std::optional<Gate::Place> place) {
      if (ending_) return;
      if (!place) return Enter(sender);  // told to come back
      sender.place = std::move(place);
      sender.pace.emplace();
      sender.pace->Begin(clock_.SteadyNs());
      sender.since_ns = clock_.SteadyNs();
      sender.chunks = 0;
    });
  }
  void Look(Sender& sender) {
    if (!sender.place) return;
    const std::int64_t now_ns = clock_.SteadyNs();
    for (; sender.chunks < (now_ns - sender.since_ns) / sender.chunk_ns; ++sender.chunks) {
      sender.pace->Take(kFullChunk);
    }
    sender.done = sender.chunks >= kChunks;
    const bool cut = !sender.done && (*sender.place)->waited_for() && sender.pace->TooSlow(now_ns);
    if (!sender.done && !cut) return;
    sender.place.reset();
    if (!cut) return;
    ++sender.cuts;
    Enter(sender);
  }
  // How many senders are done by then.
  std::size_t DoneBy(std::int64_t end_ns) {
    while (clock_.SteadyNs() < end_ns) {
      clock_.Advance(kLookNs);
      Do([this] { gate_.Expire(); });
      Do([this] {
        for (Sender& each : senders_) Look(each);
      });
      Do([] {});  // who enters the places that were given up
    }
    std::size_t done = 0;
    for (const Sender& each : senders_) done += each.done;
    return done;
  }

  std::deque<Sender> senders_;
  bool ending_ = false;  // the gate's thread
};

// 20 senders of a minute each have eight places: they need three minutes at least.
TEST_F(SlowLinkTest, MoreNodesThanPlacesAllComeThroughAt15SecondsAChunk) {
  for (int i = 0; i < 20; ++i) Add("node " + std::to_string(i), 15 * kSecond);
  EXPECT_EQ(DoneBy(200 * kSecond), 20u);
  for (const Sender& each : senders_) EXPECT_EQ(each.cuts, 0) << each.name;
}

TEST_F(SlowLinkTest, HostileSendersThatTakeAllPlacesGiveThemUpInTurn) {
  for (std::size_t i = 0; i < 2 * kPlaces; ++i) Add("hostile " + std::to_string(i), 3'600 * kSecond);
  Add("slow", 15 * kSecond);
  Add("fast", kSecond);
  EXPECT_EQ(DoneBy(140 * kSecond), 2u);
  EXPECT_TRUE(senders_[2 * kPlaces].done && senders_[2 * kPlaces + 1].done);
}

}  // namespace
}  // namespace tributary::learning
