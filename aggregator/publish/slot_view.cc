#include "aggregator/publish/slot_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/frame_check.h"
#include "core/status/macros.h"
#include "core/wire/convert.h"

namespace tributary::publish {

absl::StatusOr<std::unique_ptr<SlotView>> SlotView::Create(fusion::FusionEngine& engine,
                                                           SlotSelection selection) {
  if (selection.subjects.size() > SlotSelection::kMostSubjects) {
    return absl::InvalidArgumentError(absl::StrCat("subjects: ", selection.subjects.size(),
                                                   " named, allowed are ", SlotSelection::kMostSubjects));
  }
  if (selection.contributions) RETURN_IF_ERROR(engine.Explain(*selection.contributions));
  return std::unique_ptr<SlotView>(new SlotView(engine, std::move(selection)));
}

SlotView::SlotView(fusion::FusionEngine& engine, SlotSelection selection)
    : engine_(engine), selection_(std::move(selection)) {}

SlotView::~SlotView() {
  if (selection_.contributions) engine_.Conceal(*selection_.contributions);
}

void SlotView::Write(const estimate::FusedSlot& slot, v1::WatchResponse& response) {
  if (selection_.subjects.empty()) {
    wire::SlotToWire(slot, *response.mutable_slot());
  } else {
    rows_.clear();
    for (std::uint32_t row = 0; row < slot.subjects.size(); ++row) {
      if (std::ranges::count(selection_.subjects, slot.subjects[row]) > 0) rows_.push_back(row);
    }
    selected_ = slot;
    fusion::KeepRows(rows_, selected_);
    fusion::KeepRows(rows_, 1, selected_.consistency);
    if (!selected_.velocities.empty()) fusion::KeepRows(rows_, slot.dimension, selected_.velocities);
    wire::SlotToWire(selected_, *response.mutable_slot());
  }
  if (!selection_.contributions ||
      !wire::ContributionsToWire(slot, *selection_.contributions, *response.mutable_contributions())) {
    response.clear_contributions();
  }
}

}  // namespace tributary::publish
