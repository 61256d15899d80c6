// What one reader sees of a site's slots: all subjects or some, and what the sources say of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/fusion/engine.h"
#include "core/estimate/tuple_frame.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::publish {

struct SlotSelection {
  static constexpr std::size_t kMostSubjects = 64;

  std::vector<std::uint32_t> subjects;         // empty: all
  std::optional<std::uint32_t> contributions;  // what the sources say of this one
};

// One reader's; not thread-safe. The engine keeps the contributions for as long as this exists, and outlives
// it.
class SlotView {
 public:
  // InvalidArgument: too many subjects. ResourceExhausted: as FusionEngine::Explain.
  static absl::StatusOr<std::unique_ptr<SlotView>> Create(fusion::FusionEngine& engine,
                                                          SlotSelection selection);
  ~SlotView();
  SlotView(const SlotView&) = delete;
  SlotView& operator=(const SlotView&) = delete;

  // Overwrites slot and contributions of `response`, reuses its memory.
  void Write(const estimate::FusedSlot& slot, v1::WatchResponse& response);

 private:
  SlotView(fusion::FusionEngine& engine, SlotSelection selection);

  fusion::FusionEngine& engine_;
  const SlotSelection selection_;
  estimate::FusedSlot selected_;     // reused
  std::vector<std::uint32_t> rows_;  // reused
};

}  // namespace tributary::publish
