#include "node/panel/panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <optional>
#include <thread>

namespace tributary::panel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Gives one frame of `subjects` for each OK in turn, then the error.
class ScriptedSource final : public source::Source {
 public:
  explicit ScriptedSource(std::deque<absl::Status> script, std::uint64_t frames_per_slot = 1)
      : script_(std::move(script)), frames_per_slot_(frames_per_slot) {}
  absl::Status Next(std::stop_token stop, source::SensorFrame& frame) override {
    if (script_.empty()) {
      // An idle source: no frame is due until somebody stops it.
      while (!stop.stop_requested()) std::this_thread::yield();
      return absl::CancelledError("stopped");
    }
    const absl::Status status = script_.front();
    script_.pop_front();
    frame.epoch = 1 + given_++ / frames_per_slot_;
    frame.captured_unix_ns = captured_unix_ns_;
    frame.subjects = subjects_;
    frame.features.assign(subjects_.begin(), subjects_.end());
    return status;
  }
  std::uint64_t missed_frames() const override { return 3; }
  std::shared_ptr<const source::UdpAccount> udp_account() const override { return account_; }

  std::optional<source::BurstCounts> unusable_bursts() const override { return unusable_bursts_; }

  void HearNothing() {
    subjects_.clear();
    unusable_bursts_ = {1, 0, 2};
  }
  void CaptureAt(std::int64_t unix_ns) { captured_unix_ns_ = unix_ns; }
  // Makes it a source of datagrams that could not use this many.
  void Discard(std::uint64_t datagrams) {
    account_ = std::make_shared<source::UdpAccount>(7000);
    source::UdpCounters unused;
    unused.of(source::UdpFault::kWidth) = datagrams;
    account_->Add(unused);
  }

 private:
  std::deque<absl::Status> script_;
  const std::uint64_t frames_per_slot_;
  std::uint64_t given_ = 0;
  std::int64_t captured_unix_ns_ = 0;
  std::vector<std::uint32_t> subjects_ = {1, 2};
  std::optional<source::BurstCounts> unusable_bursts_;
  std::shared_ptr<source::UdpAccount> account_;
};

class EchoWorkload final : public workload::Workload {
 public:
  explicit EchoWorkload(absl::Status status) : status_(std::move(status)) {}
  absl::Status Run(const source::SensorFrame& samples, estimate::TupleFrame& tuples) override {
    tuples.epoch = samples.epoch;
    tuples.captured_unix_ns = samples.captured_unix_ns;
    tuples.dimension = 1;
    tuples.subjects = samples.subjects;
    tuples.means = samples.features;
    tuples.cholesky = samples.features;
    return status_;
  }
  std::uint64_t unusable_tuples() const override { return 0; }

 private:
  const absl::Status status_;
};

class CollectingSink final : public link::TupleSink {
 public:
  void Offer(estimate::TupleFrame& frame) override {
    const runtime::MutexLock lock(mutex_);
    frames_.push_back(frame);
  }
  std::vector<estimate::TupleFrame> frames() const {
    const runtime::MutexLock lock(mutex_);
    return frames_;
  }

 private:
  mutable runtime::Mutex mutex_;
  std::vector<estimate::TupleFrame> frames_ GUARDED_BY(mutex_);
};

// Moves on by itself whenever somebody sleeps.
class EagerClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns_; }
  std::int64_t SteadyNs() const override { return now_ns_; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token) const override { now_ns_ = unix_ns; }

 private:
  mutable std::atomic<std::int64_t> now_ns_ = 5'000;
};

class PanelTest : public ::testing::Test {
 protected:
  using Script = std::deque<absl::Status>;

  static PanelParts Parts(Script script, absl::Status workload = absl::OkStatus()) {
    return {std::make_unique<ScriptedSource>(std::move(script)),
            std::make_unique<EchoWorkload>(std::move(workload))};
  }
  // The account of a source that could not use five datagrams.
  static PanelParts PartsOfUdp(Script script) {
    auto source = std::make_unique<ScriptedSource>(std::move(script));
    source->Discard(5);
    return {std::move(source), std::make_unique<EchoWorkload>(absl::OkStatus())};
  }
  // Runs a panel until it ends by itself; `later` are the scripts after each restart.
  void Run(PanelParts first, std::deque<Script> later = {}) {
    later_ = std::move(later);
    panel_ = std::make_unique<Panel>(
        Panel::Identity{"north", 4}, std::move(first),
        [this]() -> absl::StatusOr<PanelParts> {
          if (later_.empty()) return absl::NotFoundError("the device is gone");
          PanelParts parts = PartsOfUdp(later_.front());
          later_.pop_front();
          return parts;
        },
        clock_, sink_, metrics_);
    panel_->Start();
    while (panel_->state() == PanelState::kRunning || panel_->state() == PanelState::kRestarting) {
      std::this_thread::yield();
    }
    panel_->Stop();
  }

  const EagerClock clock_;
  CollectingSink sink_;
  runtime::Metrics metrics_;
  std::deque<Script> later_;
  std::unique_ptr<Panel> panel_;
};

const absl::Status kOk = absl::OkStatus();
const absl::Status kEnd = absl::OutOfRangeError("the end");

TEST_F(PanelTest, OffersWhatTheSourceGivesAndFinishesAtItsEnd) {
  Run(Parts({kOk, kOk, kEnd}));
  EXPECT_EQ(panel_->state(), PanelState::kFinished);
  const auto frames = sink_.frames();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].epoch, 2u);
  EXPECT_EQ(frames[1].source, 4u);
  EXPECT_EQ(frames[1].dimension, 1u);
  EXPECT_THAT(frames[1].subjects, ElementsAre(1, 2));
  EXPECT_EQ(panel_->counters().tuples, 4u);
  EXPECT_EQ(panel_->counters().missed_frames, 3u);
  EXPECT_EQ(panel_->latency().count(), 2u);
  EXPECT_EQ(panel_->latency().max_ns(), 5'000);
}

// Whoever can send a datagram says when it was captured.
TEST_F(PanelTest, ACaptureTimeThatNoClockCanShowHasTheLongestLatency) {
  auto source = std::make_unique<ScriptedSource>(Script{kOk, kEnd});
  source->CaptureAt(std::numeric_limits<std::int64_t>::min());
  Run({std::move(source), std::make_unique<EchoWorkload>(absl::OkStatus())});
  EXPECT_EQ(panel_->latency().max_ns(), std::numeric_limits<std::int64_t>::max());
}

// A second frame of a source and slot is refused as a duplicate.
TEST_F(PanelTest, OffersTheFirstFrameOfASlotAndCountsTheOthers) {
  Run({std::make_unique<ScriptedSource>(Script{kOk, kOk, kOk, kOk, kOk, kEnd}, 2),
       std::make_unique<EchoWorkload>(absl::OkStatus())});
  std::vector<estimate::Epoch> epochs;
  for (const estimate::TupleFrame& frame : sink_.frames()) epochs.push_back(frame.epoch);
  EXPECT_THAT(epochs, ElementsAre(1, 2, 3));
  EXPECT_EQ(panel_->counters().frames, 5u);
  EXPECT_EQ(panel_->counters().surplus_frames, 2u);
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_panel_surplus_frames_total{panel=\"north\"} 2"));
}

TEST_F(PanelTest, StartsAgainAfterAnErrorThatMayPass) {
  Run(Parts({kOk, absl::UnavailableError("device lost")}),
      {{kOk, absl::InternalError("again")}, {kOk, kEnd}});
  EXPECT_EQ(panel_->state(), PanelState::kFinished);
  EXPECT_EQ(panel_->counters().frames, 3u);
  EXPECT_EQ(panel_->counters().restarts, 2u);
  EXPECT_EQ(panel_->counters().missed_frames, 9u) << "of all three sources";
}

TEST_F(PanelTest, KeepsTheCountsOfDatagramsWhenItsSourceIsOpenedAgain) {
  Run(PartsOfUdp({kOk, absl::UnavailableError("address lost")}), {{kEnd}});
  EXPECT_EQ(panel_->udp_counters()->of(source::UdpFault::kWidth), 10u) << "of both sources";
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("tributary_udp_datagrams_unused_total{panel=\"north\",reason=\"width\"} 10"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_udp_port{panel=\"north\"} 7000"));
}

TEST_F(PanelTest, GoesOnAfterAFrameWithoutAUsableBurst) {
  auto source = std::make_unique<ScriptedSource>(Script{kOk, kOk, kEnd});
  source->HearNothing();
  // The workload would fail.
  Run({std::move(source), std::make_unique<EchoWorkload>(absl::InternalError("asked"))});
  EXPECT_EQ(panel_->state(), PanelState::kFinished);
  EXPECT_EQ(panel_->counters().frames, 2u);
  EXPECT_TRUE(sink_.frames().empty());
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("tributary_panel_unusable_bursts_total{panel=\"north\",reason=\"clipped\"} 2"));
}

TEST_F(PanelTest, HasNoCountsOfBurstsForASourceWithoutBursts) {
  Run(Parts({kOk, kEnd}));
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("unusable_bursts")));
}

TEST_F(PanelTest, FailsForGoodWhenAnotherTryCannotHelp) {
  Run(Parts({kOk, absl::DataLossError("frame 2: truncated")}), {{kEnd}});
  EXPECT_EQ(panel_->state(), PanelState::kFailed);
  EXPECT_EQ(panel_->counters().restarts, 0u);
}

TEST_F(PanelTest, FailsForGoodWhenItCannotBeOpenedAgain) {
  Run(Parts({absl::UnavailableError("device lost")}));
  EXPECT_EQ(panel_->state(), PanelState::kFailed);
}

TEST_F(PanelTest, CountsFramesThatTheWorkloadLost) {
  Run(Parts({kOk, kOk}, absl::InvalidArgumentError("wrong size")));
  EXPECT_EQ(panel_->state(), PanelState::kFailed);
  EXPECT_EQ(panel_->counters().failed_frames, 1u);
  EXPECT_TRUE(sink_.frames().empty());
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_panel_failed_frames_total{panel=\"north\"} 1"));
}

TEST_F(PanelTest, StopsWhileItsSourceIsAtRest) {
  panel_ = std::make_unique<Panel>(
      Panel::Identity{"north", 0}, Parts({}), [] { return absl::InternalError("not asked"); }, clock_, sink_,
      metrics_);
  panel_->Start();
  panel_->Stop();
  EXPECT_EQ(panel_->state(), PanelState::kFinished);
}

}  // namespace
}  // namespace tributary::panel
