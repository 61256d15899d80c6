// Messages that come or go alone: each takes a thread as long as ten in a row.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "aggregator/server/connection_costs_fixture.h"

namespace tributary::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class LoneMessageTest : public CostTest {
 protected:
  LoneMessageTest() : CostTest(ConnectionLimits()) {
    AddSpeaking(kPeer);
    pulse_ = table_.PulseOf(kPeer);
  }

  // The milliseconds until the connection is cut when `message` happens so often in a second and costs so
  // much each time; none within ten minutes: 0.
  int CutAfterMs(int rate_hz, std::chrono::nanoseconds each, const std::function<void()>& message) {
    constexpr int kMs = 600'000, kLookMs = 20;
    int done = 0;
    for (int ms = kLookMs; ms <= kMs; ms += kLookMs) {
      const int now = static_cast<int>(std::int64_t{ms} * rate_hz / 1'000) - done;
      for (int i = 0; i < now; ++i) message();
      done += now;
      if (!Look({{1, now * each}}, 0, ms / 1'000, milliseconds(kLookMs)).empty()) return ms;
    }
    return 0;
  }

  static constexpr const char* kPeer = "192.0.2.1:1";
  std::shared_ptr<ConnectionPulse> pulse_;
};

TEST_F(LoneMessageTest, OfAPanelPayForWhatTheyTake) {
  table_.NoteReport(kPeer);
  const auto frame = [this] { ++pulse_->heard; };
  for (const int rate_hz : {1, 20, 100, 200}) EXPECT_EQ(CutAfterMs(rate_hz, microseconds(200), frame), 0);
  EXPECT_EQ(CutAfterMs(2'000, microseconds(30), frame), 0) << "in a row";
}

TEST_F(LoneMessageTest, ToAWatcherPayForWindowUpdates) {
  for (const int rate_hz : {1, 20, 100}) {
    EXPECT_EQ(CutAfterMs(rate_hz, microseconds(240), [this] { ++pulse_->sent; }), 0);
  }
}

// Tasks of a round, or the lines of a run that somebody watches; each round has two calls, too.
TEST_F(LoneMessageTest, ToALearnerPayForWindowUpdates) {
  EXPECT_EQ(CutAfterMs(5, microseconds(240), [this] { ++pulse_->told; }), 0);
  const auto round = [this] {
    ++pulse_->told;
    pulse_->calls += 2;
    pulse_->heard += 3;
  };
  EXPECT_EQ(CutAfterMs(2, microseconds(900), round), 0);
}

TEST_F(LoneMessageTest, PayNoMoreThanAPartOfTheTime) {
  table_.NoteReport(kPeer);
  const auto frame = [this] { ++pulse_->heard; };
  EXPECT_GT(CutAfterMs(200, microseconds(600), frame), 0);
  EXPECT_LT(CutAfterMs(2'000, microseconds(60), frame), 2'000) << "too many for all to be alone";
}

TEST_F(LoneMessageTest, PayLessOfAConnectionThatNeitherReportsNorWatches) {
  EXPECT_GT(CutAfterMs(200, microseconds(200), [this] { ++pulse_->told; }), 0);
}

TEST_F(LoneMessageTest, OfAPeerPayNoMoreThanASeventhOfTheTime) {
  constexpr int kConnections = 10;
  std::map<int, std::chrono::nanoseconds> costs;
  for (int i = 1; i <= kConnections; ++i) {
    const std::string peer = "192.0.2.2:" + std::to_string(i);
    AddSpeaking(peer);
    table_.NoteReport(peer);
    costs[last_] = 4 * microseconds(200);
  }
  std::size_t cut = 0;
  for (int look = 0; look < 100 && cut == 0; ++look) {
    for (int i = 1; i <= kConnections; ++i) table_.PulseOf("192.0.2.2:" + std::to_string(i))->heard += 4;
    cut = Look(costs, 0, look / 50, milliseconds(20)).size();
  }
  EXPECT_GT(cut, 0u) << "each alone would have a part of the time that is enough";
}

TEST_F(LoneMessageTest, WithoutFramesPayNothing) {
  table_.NoteReport(kPeer);
  const auto empty = [this] {
    ++pulse_->heard;
    ++pulse_->empty;
  };
  EXPECT_LT(CutAfterMs(50, microseconds(200), empty), 5'000);
}

}  // namespace
}  // namespace tributary::server
