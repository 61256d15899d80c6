// Several ingest threads, a reader of the counters and a reload at the same time: for ThreadSanitizer, and to
// check the sums.
#include <atomic>
#include <thread>

#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

class EngineThreadsTest : public FusionFixture {};

TEST_F(EngineThreadsTest, EveryTupleHasOneEndWhoeverBroughtIt) {
  constexpr estimate::Epoch kSlots = 2000;
  site_.window_slots = 4096;
  site_.max_age_ns.reset();
  site_.max_lead_ns.reset();
  Start();
  std::atomic<std::size_t> slots = 0;
  std::atomic<std::size_t> rows = 0;
  std::atomic<bool> stop = false;
  {
    std::vector<std::jthread> ingest;
    for (const auto& [name, handle] : handles_) {
      ingest.emplace_back([&, source = handle] {
        FusedSlots out;
        for (estimate::Epoch i = 0; i < kSlots; ++i) {
          out.Clear();
          const FusionTime now = {static_cast<std::int64_t>(i) * estimate::SlotLength().ns(),
                                  estimate::SlotLength().StartNs(kEpoch + i)};
          EXPECT_TRUE(engine_->Offer(source, Frame(kEpoch + i, {1.0f, 2.0f, 3.0f}), now, out).accepted);
          slots += out.size();
          for (const estimate::FusedSlot& slot : out.slots()) rows += slot.subjects.size();
        }
      });
    }
    std::jthread reader([&] {
      while (!stop) {
        EXPECT_LE(engine_->counters().tuples_fused, 3 * kSlots);
        EXPECT_EQ(engine_->sources().size(), 4u);
        EXPECT_EQ(engine_->leaves().size(), 4u);
        FusionTuning tuning = site_.tuning;
        tuning.deadline_ns += 1;
        EXPECT_TRUE(engine_->Reconfigure(tuning).ok());
      }
    });
    ingest.clear();  // joins
    stop = true;
  }
  EXPECT_EQ(slots, kSlots);
  EXPECT_EQ(rows, 3 * kSlots);
  EXPECT_EQ(engine_->counters().slots_complete, kSlots);
  EXPECT_EQ(engine_->counters().tuples_accepted, 12 * kSlots);
  EXPECT_EQ(engine_->counters().open_slots, 0u);
}

}  // namespace
}  // namespace tributary::fusion
