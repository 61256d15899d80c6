// What the store keeps of a run, as JSON text: read again by this program only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "aggregator/learning/round/run_event.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/run/round_line.h"

namespace tributary {

// Where a run stands, but for its accepted updates: those have records of their own.
struct RunDocument {
  RunSnapshot snapshot;  // without `accepted`
  std::string failure;   // why it cannot go on; empty: it can
  std::int64_t round_started_unix_ns = 0;
  std::uint64_t refused = 0;  // in the round under way, as far as it was stored
  bool relayed = false;       // the run is a parent's
};

// An accepted update beside its file.
struct SubmissionDocument {
  AcceptedUpdate update;
  double norm = 0;  // L2, of the elements as they arrived; 0 for words that are masked or summed already
  std::uint64_t payload_bytes = 0;
};

std::string EncodeRunDocument(const RunDocument& document);
std::string EncodeSubmissionDocument(const SubmissionDocument& document);
std::string EncodeRoundLine(const RoundLine& line);

// DataLoss: not what was written.
absl::StatusOr<RunDocument> DecodeRunDocument(std::string_view text);
absl::StatusOr<SubmissionDocument> DecodeSubmissionDocument(std::string_view text);
absl::StatusOr<RoundLine> DecodeRoundLine(std::string_view text);

}  // namespace tributary
