// Where the subjects really are, for judging what was fused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// x, y in the site's frame, m; nullopt where it is not known.
using PlanePosition = std::optional<std::array<double, 2>>;

// Where a subject was in a slot; `slot`: what the site's epochs count. Empty: no truth is known. Any thread
// may call.
using Truth =
    std::function<PlanePosition(std::uint32_t subject, estimate::Epoch epoch, estimate::SlotLength slot)>;

// "room:seed=1" (also ",snapshots=N"): the walk of the simulated room's users. Anything else: a CSV file of
// motion capture; subjects are its tags. Errors: InvalidArgument for a key or number that is not known; as
// ReadFile and MotionCapture::Parse.
absl::StatusOr<Truth> OpenTruth(const std::string& description);

}  // namespace tributary::cli
