// Where the subjects really are, for judging what was fused.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// Immutable; any thread may call.
class Truth {
 public:
  virtual ~Truth() = default;

  // x, y in the site's frame, m; nullopt where it is not known. `slot`: what the site's epochs count.
  virtual std::optional<std::array<double, 2>> At(std::uint32_t subject, estimate::Epoch epoch,
                                                  estimate::SlotLength slot) const = 0;
};

// "room:seed=1" (also ",snapshots=N"): the walk of the simulated room's users. Anything else: a CSV file of
// motion capture; subjects are its tags. Errors: InvalidArgument for a key or number that is not known; as
// ReadFile and MotionCapture::Parse.
absl::StatusOr<std::unique_ptr<Truth>> OpenTruth(const std::string& description);

}  // namespace tributary::cli
