// Sends one fused tuple per subject instead of one per panel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/link/spool/spool.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"
#include "node/accelerator/accelerator.h"
#include "node/panel/panel_collation.h"

namespace tributary::panel {

struct BoardFusionCounters {
  std::uint64_t slots = 0;
  std::uint64_t incomplete_slots = 0;
  std::uint64_t failed_slots = 0;
  std::uint64_t dropped_slots = 0;
  std::uint64_t late_frames = 0;
  std::uint64_t tuples = 0;
  std::uint64_t unusable_tuples = 0;
};

inline constexpr runtime::CountMetric<BoardFusionCounters> kBoardFusionMetrics[] = {
    {"tributary_board_fusion_slots_total", "Slots that were fused.", &BoardFusionCounters::slots},
    {"tributary_board_fusion_incomplete_slots_total", "Slots that were fused without some panel.",
     &BoardFusionCounters::incomplete_slots},
    {"tributary_board_fusion_failed_slots_total", "Slots lost to an error of the accelerator.",
     &BoardFusionCounters::failed_slots},
    {"tributary_board_fusion_dropped_slots_total", "Slots dropped because fusion is slower than the panels.",
     &BoardFusionCounters::dropped_slots},
    {"tributary_board_fusion_late_frames_total", "Frames of panels that came after their slot was fused.",
     &BoardFusionCounters::late_frames},
    {"tributary_board_fusion_tuples_total", "Fused tuples offered to the uplink.",
     &BoardFusionCounters::tuples},
    {"tributary_board_fusion_unusable_tuples_total",
     "Fused tuples left out: not finite or not positive definite.", &BoardFusionCounters::unusable_tuples}};

// Takes the two-dimensional tuples of the panels (TupleFrame::source is the panel), fuses those of one slot
// and subject, and offers the result as source 0. Its leaves are the panels, so a tuple's contributors name
// the panels in it. Panels call Offer from their threads; one more thread fuses. If the fusion of a slot
// fails, the slot is lost and counted, and nothing of it is sent.
class BoardFusion final : public link::TupleSink {
 public:
  struct Options {
    std::string name;  // of the source
    std::size_t panels = 0;
    std::int64_t deadline_ns = 0;  // from the first frame of a slot to its fusion without the others
  };

  // `accelerator` is a FusionAccelerator for as many panels. Clock and sink outlive this object; it outlives
  // the metrics' last reader.
  BoardFusion(Options options, std::unique_ptr<accelerator::Accelerator> accelerator,
              const runtime::Clock& clock, link::TupleSink& sink, runtime::Metrics& metrics);

  void Start();
  // Fuses what waits, then ends the thread. Call it after the panels have ended.
  void Stop();

  void Offer(estimate::TupleFrame& frame) override;

  // Any thread may call it.
  BoardFusionCounters counters() const;

 private:
  void Run(const std::stop_token& stop);
  void FuseSlot();
  // The tuples of slot_, a row per subject.
  void Gather();
  void Store(std::size_t row);

  const Options options_;
  const std::unique_ptr<accelerator::Accelerator> accelerator_;
  const runtime::Clock& clock_;
  link::TupleSink& sink_;

  mutable runtime::Mutex mutex_;
  std::condition_variable_any arrived_;
  PanelCollation collation_ GUARDED_BY(mutex_);
  BoardFusionCounters published_ GUARDED_BY(mutex_);  // without the collation's

  // The thread's.
  BoardFusionCounters counted_;
  PanelSlot slot_;
  std::vector<float> inputs_, outputs_;
  std::vector<std::uint64_t> contributors_;  // [rows]
  std::vector<std::uint32_t> subjects_;      // [rows]
  estimate::TupleFrame fused_;
  bool failing_ = false;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::panel
