// What `tributary doctor` checks, and what it found.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/connection.h"
#include "core/estimate/slot_length.h"
#include "node/checks/check_report.h"

namespace tributary::cli {

struct DoctorOptions {
  ConnectionArguments connection = {.aggregator = ""};
  std::string config;                // of a node; empty: none
  bool needs_board = false;          // else the absence of XRT is no fault
  std::string node;                  // its name; empty: not known
  bool only_learns = false;          // it has no panel, and so no slots
  std::string site;                  // that the aggregator must have; empty: any
  std::vector<std::string> sources;  // that the site must have: the panels
  estimate::SlotLength slot;         // of the site
  std::string xclbin;                // empty: what needs one is left out, with a warning
  unsigned device = 0;
  std::uint64_t memory_bytes = 4ull << 20;  // contiguous memory that the configuration needs
  bool renews = false;                      // the node replaces its certificate itself
  std::string data_folder;                  // whose disk must have room; empty: nothing is kept
};

// XRT and its library, device node, xclbin and its UUID, contiguous memory, time of an empty run. In
// doctor_xrt.cc, or doctor_no_xrt.cc in a build without XRT.
void CheckBoard(const DoctorOptions& options, checks::CheckReport& report);

// Whether it answers, has the site, and the site has the slots and the sources. Also the certificates of both
// sides, as far as they are known. False: it does not answer.
bool CheckAggregator(const DoctorOptions& options, checks::CheckReport& report);

// What a site tells its watchers.
struct SiteFacts {
  std::vector<std::string> leaves;
  estimate::SlotLength slot;
};

// Whether a node of the options can report to the site. `facts`: PermissionDenied if this certificate may not
// watch it.
void JudgeSite(const DoctorOptions& options, const absl::StatusOr<SiteFacts>& facts,
               checks::CheckReport& report);

// What to do if the aggregator does not tell its sites.
std::string AggregatorRemedy(const absl::Status& answer, const DoctorOptions& options);

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

// Tuples are matched by the site's slots: an offset beyond half of one assigns them to the wrong one.
checks::CheckLine JudgeOffset(const std::string& aggregator, const absl::StatusOr<ClockOffset>& offset,
                              estimate::SlotLength slot);

checks::CheckLine CheckOffset(const ConnectionArguments& connection, estimate::SlotLength slot);

}  // namespace tributary::cli
