#include "core/link/disk_backlog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "core/link/journal/power_cut_folder.h"
#include "core/wire/hello.h"

namespace tributary::link {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;

v1::Hello NorthsHello() {
  v1::Hello hello;
  hello.set_site("room");
  hello.set_node("north");
  hello.set_boot_id(wire::NewBootId());
  wire::AddSource(hello, "north", 2, {"north"});
  return hello;
}

// A node's process: spool and backlog, and an aggregator that takes frames while it is connected.
class BacklogProcess {
 public:
  BacklogProcess(PowerCutDisk& disk, runtime::ManualClock& clock, SpoolLimits limits = {1000, 1 << 20},
                 double resend_hz = 10'000, const v1::Hello& hello = NorthsHello())
      : clock_(clock),
        spool_(limits),
        backlog_({.folder = "disk", .budget_bytes = 1 << 20, .resend_hz = resend_hz}, hello, {}, spool_,
                 clock, [&disk]() -> absl::StatusOr<std::unique_ptr<JournalFolder>> {
                   return std::make_unique<PowerCutFolder>(disk);
                 }) {}

  void Offer(estimate::Epoch epoch) {
    estimate::TupleFrame frame;
    frame.epoch = epoch;
    frame.subjects = {1, 2};
    frame.means = {1, 2, 3, 4};
    frame.cholesky = {1, 0, 1, 1, 0, 1};
    spool_.Offer(frame);
  }
  // One tick of the thread; `arrived` gets the epochs that the aggregator takes meanwhile.
  void Tick(bool connected, std::multiset<estimate::Epoch>& arrived) {
    clock_.Advance(DiskBacklog::kTickNs);
    backlog_.Tick(connected);
    estimate::TupleFrame frame;
    if (!connected) spool_.Rewind();
    while (connected && spool_.Take(0, frame)) {
      arrived.insert(frame.epoch);
      EXPECT_EQ(frame.means, (std::vector<float>{1, 2, 3, 4}));
      EXPECT_TRUE(spool_.Acknowledge(frame.sequence).ok());
    }
  }
  void ExpectBalance() {
    backlog_.Tick(false);
    const SpoolCounters spool = spool_.counters();
    const DiskBacklogCounters disk = backlog_.counters();
    EXPECT_EQ(spool.offered_frames + disk.recovered_frames,
              spool.acknowledged_frames + spool.dropped_frames + spool.held_frames + disk.stored_frames);
    EXPECT_EQ(spool.offered_tuples + disk.recovered_tuples,
              spool.acknowledged_tuples + spool.dropped_tuples + spool.held_tuples + disk.stored_tuples);
  }

  runtime::ManualClock& clock_;
  Spool spool_;
  DiskBacklog backlog_;
};

class DiskBacklogTest : public ::testing::Test {
 protected:
  // Offers a frame a tick, numbered by epoch, for this long.
  void Run(BacklogProcess& process, bool connected, int ticks) {
    for (int tick = 0; tick < ticks; ++tick) {
      process.Offer(++epoch_);
      process.Tick(connected, arrived_);
    }
  }
  void RunIdle(BacklogProcess& process, bool connected, int ticks) {
    for (int tick = 0; tick < ticks; ++tick) process.Tick(connected, arrived_);
  }
  bool EachArrivedOnce() const {
    return arrived_.size() == epoch_ &&
           (epoch_ == 0 || (*arrived_.begin() == 1 && *arrived_.rbegin() == epoch_));
  }

  PowerCutDisk disk_;
  runtime::ManualClock clock_{kStartNs};
  estimate::Epoch epoch_ = 0;
  std::multiset<estimate::Epoch> arrived_;
};

TEST_F(DiskBacklogTest, LeavesTheDiskAloneWhileTheAggregatorAnswers) {
  BacklogProcess process(disk_, clock_);
  Run(process, true, 300);
  EXPECT_TRUE(EachArrivedOnce());
  EXPECT_TRUE(disk_.files().empty());
}

TEST_F(DiskBacklogTest, SendsEveryFrameOnceAfterALongOutage) {
  BacklogProcess process(disk_, clock_, {100, 1 << 20});
  Run(process, true, 50);
  Run(process, false, 3000);  // 30 times what the memory holds
  EXPECT_EQ(process.spool_.dropped_frames(), 0u);
  EXPECT_LT(process.spool_.held_frames(), 2u);
  EXPECT_EQ(process.backlog_.counters().stored_frames + process.spool_.held_frames(), 3000u);
  Run(process, true, 1000);
  EXPECT_TRUE(EachArrivedOnce()) << arrived_.size() << " of " << epoch_;
  EXPECT_TRUE(disk_.files().empty());
  EXPECT_EQ(process.backlog_.counters().stored_frames, 0u);
  process.ExpectBalance();
}

TEST_F(DiskBacklogTest, BoundsTheRateBesideTheFreshFrames) {
  BacklogProcess process(disk_, clock_, {1000, 1 << 20}, 500);  // 5 in each tick
  Run(process, false, 1000);
  const std::uint64_t before = process.spool_.counters().acknowledged_frames;
  EXPECT_EQ(before, 0u);
  Run(process, true, 100);
  const std::uint64_t sent = process.spool_.counters().acknowledged_frames;
  EXPECT_GE(sent, 100u * 5);
  EXPECT_LE(sent, 100u * 6 + 60);
}

TEST_F(DiskBacklogTest, SendsTheOldestFirst) {
  BacklogProcess process(disk_, clock_);
  Run(process, false, 500);
  RunIdle(process, true, 1);
  EXPECT_EQ(*arrived_.begin(), 1u);
  EXPECT_EQ(*arrived_.rbegin(), arrived_.size());
}

TEST_F(DiskBacklogTest, KeepsFramesThatAStreamLostOnTheWayBack) {
  BacklogProcess process(disk_, clock_);
  Run(process, false, 500);
  clock_.Advance(DiskBacklog::kTickNs);
  process.backlog_.Tick(true);  // some are in the spool again, and none is acknowledged
  EXPECT_GT(process.spool_.counters().stored_frames, 0u);
  process.ExpectBalance();
  Run(process, false, 100);
  RunIdle(process, true, 200);
  EXPECT_TRUE(EachArrivedOnce());
  process.ExpectBalance();
}

TEST_F(DiskBacklogTest, GivesUpAStreamThatAcknowledgesNothing) {
  BacklogProcess process(disk_, clock_);
  for (int tick = 0; tick < 100; ++tick) {
    process.Offer(++epoch_);
    clock_.Advance(DiskBacklog::kTickNs);
    process.backlog_.Tick(true);
  }
  EXPECT_GT(process.backlog_.counters().stored_bytes, 40u * 50) << "on the disk, and in the spool again";
  RunIdle(process, true, 200);
  EXPECT_TRUE(EachArrivedOnce());
}

TEST_F(DiskBacklogTest, StoresWhenTheMemoryIsNearlyFull) {
  BacklogProcess process(disk_, clock_, {100, 1 << 20});
  for (int frame = 0; frame < 80; ++frame) process.Offer(++epoch_);
  process.backlog_.Tick(true);
  EXPECT_EQ(process.backlog_.counters().stored_frames, 80u);
}

TEST_F(DiskBacklogTest, DropsAndCountsFramesThatTheSiteWouldRefuse) {
  const auto epoch_now = static_cast<estimate::Epoch>(kStartNs / estimate::SlotLength().ns());
  BacklogProcess process(disk_, clock_);
  process.backlog_.Admit(2'000 * kMs);
  for (int tick = 0; tick < 500; ++tick) {
    process.Offer(epoch_now + static_cast<estimate::Epoch>(20 * tick));  // 10 ms apart
    process.Tick(false, arrived_);
  }
  RunIdle(process, true, 100);
  EXPECT_NEAR(static_cast<double>(process.backlog_.counters().expired_frames), 300, 5);
  EXPECT_EQ(process.spool_.dropped_frames(), process.backlog_.counters().expired_frames);
  EXPECT_EQ(arrived_.size() + process.spool_.dropped_frames(), 500u);
  process.ExpectBalance();
}

// An outage of five times the age that the site admits: what is young enough when it ends arrives.
TEST_F(DiskBacklogTest, WhatIsTooOldDoesNotHoldUpWhatIsYoung) {
  const auto epoch_now = static_cast<estimate::Epoch>(kStartNs / estimate::SlotLength().ns());
  BacklogProcess process(disk_, clock_, {1000, 1 << 20}, 200);  // twice the rate of the frames
  process.backlog_.Admit(2'000 * kMs);
  for (int tick = 0; tick < 1000; ++tick) {
    process.Offer(epoch_now + static_cast<estimate::Epoch>(20 * tick));  // 10 ms apart
    process.Tick(false, arrived_);
  }
  RunIdle(process, true, 300);
  EXPECT_GT(arrived_.size(), 90u) << "at twice the pace at which they grow old";
  EXPECT_EQ(arrived_.size() + process.backlog_.counters().expired_frames, 1000u);
  process.ExpectBalance();
}

TEST_F(DiskBacklogTest, GoesOnFromMemoryWhileTheDiskIsFull) {
  BacklogProcess process(disk_, clock_, {100, 1 << 20});
  disk_.FailWrites(absl::ResourceExhaustedError("disk: cannot write: No space left on device"));
  Run(process, false, 600);
  EXPECT_FALSE(process.backlog_.counters().healthy);
  EXPECT_GT(process.backlog_.counters().errors, 0u);
  EXPECT_GT(process.spool_.dropped_frames(), 0u) << "counted";
  process.ExpectBalance();
  disk_.FailWrites(absl::OkStatus());
  Run(process, false, 600);
  EXPECT_TRUE(process.backlog_.counters().healthy);
  RunIdle(process, true, 300);
  EXPECT_EQ(arrived_.size() + process.spool_.dropped_frames(), epoch_);
  process.ExpectBalance();
}

TEST_F(DiskBacklogTest, SendsFromMemoryWhenTheDiskNeverCame) {
  BacklogProcess process(disk_, clock_, {100, 1 << 20});
  disk_.FailWrites(absl::PermissionDeniedError("disk: read-only"));
  Run(process, false, 60);
  RunIdle(process, true, 10);
  EXPECT_TRUE(EachArrivedOnce());
}

TEST_F(DiskBacklogTest, PutsTheRestOnTheDiskAtTheEnd) {
  {
    BacklogProcess process(disk_, clock_);
    for (int frame = 0; frame < 20; ++frame) process.Offer(++epoch_);
    process.spool_.Close();
    EXPECT_EQ(process.backlog_.Flush(), 0u);
    EXPECT_EQ(process.spool_.held_frames(), 0u);
  }
  std::mt19937_64 random(1);
  disk_.CutPower(random);
  BacklogProcess next(disk_, clock_);
  RunIdle(next, true, 100);
  EXPECT_TRUE(EachArrivedOnce());
  EXPECT_EQ(next.backlog_.counters().recovered_frames, 20u);
  next.ExpectBalance();
}

TEST_F(DiskBacklogTest, CountsWhatNeitherDiskNorAggregatorTookAtTheEnd) {
  BacklogProcess process(disk_, clock_);
  process.backlog_.Tick(false);
  for (int frame = 0; frame < 20; ++frame) process.Offer(++epoch_);
  disk_.FailWrites(absl::ResourceExhaustedError("full"));
  EXPECT_EQ(process.backlog_.Flush(), 20u);
  EXPECT_EQ(process.spool_.dropped_frames(), 20u);
}

TEST_F(DiskBacklogTest, NeverSendsFramesOfAnotherConfiguration) {
  {
    BacklogProcess process(disk_, clock_);
    Run(process, false, 100);
  }
  v1::Hello other = NorthsHello();
  wire::AddSource(other, "second", 2, {"second"});
  {
    BacklogProcess process(disk_, clock_, {100, 1 << 20}, 4000, other);
    RunIdle(process, true, 100);
    EXPECT_EQ(process.backlog_.counters().set_aside_files, 1u);
    EXPECT_TRUE(arrived_.empty());
  }
  BacklogProcess process(disk_, clock_);
  RunIdle(process, true, 100);
  EXPECT_GE(arrived_.size(), 50u);
}

TEST_F(DiskBacklogTest, CountsARecordThatIsNoFrame) {
  {
    BacklogProcess process(disk_, clock_);
    Run(process, false, 100);
  }
  // Sound on the disk, and of this node: but its source is not declared.
  v1::Frame frame;
  frame.set_source(7);
  const std::string payload = frame.SerializeAsString();
  AppendRecord({payload, 1}, disk_.files().begin()->second.bytes);
  BacklogProcess process(disk_, clock_);
  RunIdle(process, true, 100);
  EXPECT_EQ(process.backlog_.counters().damaged_frames, 1u);
  EXPECT_EQ(process.backlog_.counters().stored_frames, 0u);
}

// A process that ends at a random operation of its disk, is started again, and at last sends all it has.
class DiskBacklogCrashTest : public ::testing::Test {
 protected:
  static constexpr int kPoints = 1000;

  struct Outcome {
    std::multiset<estimate::Epoch> arrived;
    std::uint64_t dropped = 0;
    estimate::Epoch offered = 0;
  };

  // Two lives that end early, each in an outage, and one that ends well. `safe_ns`: how long a frame must
  // have been away from the panel to count as safe.
  static Outcome LiveThreeTimes(std::uint64_t seed, bool power_cut, std::int64_t safe_ns) {
    std::mt19937_64 random(seed);
    PowerCutDisk disk;
    runtime::ManualClock clock(kStartNs);
    Outcome outcome;
    std::map<estimate::Epoch, std::int64_t> offered_ns;
    std::set<estimate::Epoch> safe;
    for (int life = 0; life < 3; ++life) {
      const bool last = life == 2;
      disk.EndAfter(last ? UINT64_MAX : 3 + random() % 120);
      BacklogProcess process(disk, clock, {64, 1 << 20});
      const int ticks = 150 + static_cast<int>(random() % 150);
      const int outage = static_cast<int>(random() % 60);
      std::set<estimate::Epoch> own;
      std::int64_t end_ns = 0;
      for (int tick = 0; tick < ticks; ++tick) {
        const bool connected = last || tick < outage || (tick > 120 && tick % 3 != 0);
        process.Offer(++outcome.offered);
        own.insert(outcome.offered);
        offered_ns[outcome.offered] = clock.SteadyNs();
        process.Tick(connected, outcome.arrived);
        end_ns = clock.SteadyNs();
        if (disk.ended()) break;
      }
      if (!last) {
        for (const estimate::Epoch epoch : own) {
          if (end_ns - offered_ns[epoch] >= safe_ns) safe.insert(epoch);
        }
        outcome.dropped += process.spool_.dropped_frames();
        if (power_cut) disk.CutPower(random);
        continue;
      }
      for (int tick = 0; tick < 300; ++tick) process.Tick(true, outcome.arrived);
      outcome.dropped += process.spool_.dropped_frames();
      process.ExpectBalance();
      for (const estimate::Epoch epoch : own) safe.insert(epoch);
    }
    std::uint64_t missing = 0;
    for (const estimate::Epoch epoch : safe) {
      if (!outcome.arrived.contains(epoch)) ++missing;
    }
    EXPECT_EQ(missing, 0u) << "seed " << seed << ": of " << outcome.offered;
    return outcome;
  }
};

// Safe after the outage is noticed and a tick; a record that was cut by the kill is counted.
TEST_F(DiskBacklogCrashTest, AKilledProcessLosesNothingThatIsOnTheDisk) {
  std::uint64_t lost = 0;
  std::uint64_t offered = 0;
  for (std::uint64_t seed = 0; seed < kPoints; ++seed) {
    const Outcome outcome = LiveThreeTimes(seed, false, DiskBacklog::kAwayNs + 3 * DiskBacklog::kTickNs);
    lost += outcome.dropped;
    offered += outcome.offered;
  }
  EXPECT_GT(offered, 100'000u) << "an empty run proves nothing";
  EXPECT_LT(lost, 2u * kPoints * 2) << "at most what was torn";
}

TEST_F(DiskBacklogCrashTest, APowerCutLosesNothingThatWasSynced) {
  for (std::uint64_t seed = 0; seed < kPoints; ++seed) {
    LiveThreeTimes(seed + 5000, true, DiskBacklog::kAwayNs + DiskBacklog::kSyncNs + 3 * DiskBacklog::kTickNs);
  }
}

}  // namespace
}  // namespace tributary::link
