// The clock check of `tributary doctor`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "cli/doctor/doctor_report.h"
#include "core/estimate/slot_length.h"

namespace tributary::cli {

// How far the aggregator's wall clock is ahead of this one.
struct ClockOffset {
  std::int64_t offset_ns = 0;
  std::int64_t uncertainty_ns = 0;  // half the round trip: where in it the answer was made is not known
};

// From the exchange with the shortest round trip of `exchanges`: `ask` gives the other's wall clock,
// `now_unix_ns` ours. Errors: the first of `ask`.
absl::StatusOr<ClockOffset> MeasureClockOffset(const std::function<absl::StatusOr<std::int64_t>()>& ask,
                                               const std::function<std::int64_t()>& now_unix_ns,
                                               int exchanges);

// What the kernel says of its clock discipline: whether it is synchronised at all.
DoctorLine JudgeSynchronisation(bool synchronised, std::int64_t estimated_error_us,
                                estimate::SlotLength slot);
// Tuples are matched by the site's slots: an offset beyond half of one assigns them to the wrong one.
DoctorLine JudgeOffset(const std::string& aggregator, const absl::StatusOr<ClockOffset>& offset,
                       estimate::SlotLength slot);

void CheckSynchronisation(estimate::SlotLength slot, DoctorReport& report);
void CheckOffset(const ConnectionArguments& connection, estimate::SlotLength slot, DoctorReport& report);

}  // namespace tributary::cli
