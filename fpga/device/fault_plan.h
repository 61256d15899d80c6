// Faults of the software device, for tests of its users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace tributary::device {

// Counts runs from 1 over all compute units since the first user opened the device.
struct FaultPlan {
  // A list "name[=value],…"; names as the members below. Errors: InvalidArgument naming the word.
  static absl::StatusOr<FaultPlan> Parse(std::string_view text);

  bool no_device = false;
  bool no_permission = false;
  bool wrong_uuid = false;                  // the board holds another xclbin than the one just loaded
  bool slow_interrupt = false;              // completions are noticed 500 ms late
  std::optional<std::uint64_t> hang;        // this run never ends
  std::optional<std::uint64_t> hang_hard;   // nor can it be aborted
  std::optional<std::uint64_t> hang_after;  // neither this run nor a later one ends
  std::optional<std::uint64_t> read_error;  // answers the first read burst of this run with an error
  std::optional<std::uint64_t> write_error;
  std::optional<std::uint64_t> disappear;  // from this run on, every call fails
  std::uint64_t frame_us = 0;              // delays the end of a run by this time for each of its frames
  std::size_t memory_bytes = std::size_t{256} << 20;
};

}  // namespace tributary::device
