// What the store keeps of a run, as JSON text: read again by this program only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/federation/run_event.h"
#include "aggregator/federation/run_state.h"

namespace tributary {

// Where a run stands, but for its accepted updates: those have records of their own.
struct RunDocument {
  RunSnapshot snapshot;  // without `accepted`
  std::string failure;   // why it cannot go on; empty: it can
  std::int64_t round_started_unix_ns = 0;
  std::uint64_t refused = 0;  // in the round under way, as far as it was stored
};

// An accepted update beside its file.
struct SubmissionDocument {
  AcceptedUpdate update;
  double norm = 0;  // L2, of the elements as they arrived; 0 for words that are masked or summed already
  std::uint64_t payload_bytes = 0;
};

struct Judgement {
  double linear_probe = 0;  // share of the test images, 0 … 1
  double knn = 0;
  double random_linear_probe = 0;  // of the same network before the first round
  double random_knn = 0;
  double spread = 0;
  std::uint32_t test_images = 0;
};

struct RoundContribution {
  std::string node;
  std::uint64_t sample_count = 0;
  double loss = 0;
  double seconds = 0;
};

// A line of the history: a committed round, one that failed, or a return to an earlier model.
struct RoundLine {
  std::uint32_t round = 0;
  std::int64_t started_unix_ns = 0;
  std::int64_t ended_unix_ns = 0;
  std::uint32_t asked = 0;
  std::uint32_t accepted = 0;
  std::uint32_t refused = 0;
  std::uint32_t dropped = 0;
  std::uint64_t sample_count = 0;
  double loss = 0;  // mean over the accepted, weighted by samples
  double spread = 0;
  double update_norm = 0;
  std::uint64_t received_bytes = 0;
  std::string model_sha256;  // 32 bytes; empty: the model stayed as it was
  std::vector<RoundContribution> contributions;
  std::optional<Judgement> judgement;
  bool rolled_back = false;  // to the model after round `round`
  std::string failure;       // why the round changed nothing
  double epsilon = 0;        // spent up to here; 0: the run is not differentially private
};

std::string EncodeRunDocument(const RunDocument& document);
std::string EncodeSubmissionDocument(const SubmissionDocument& document);
std::string EncodeRoundLine(const RoundLine& line);

// DataLoss: not what was written.
absl::StatusOr<RunDocument> DecodeRunDocument(std::string_view text);
absl::StatusOr<SubmissionDocument> DecodeSubmissionDocument(std::string_view text);
absl::StatusOr<RoundLine> DecodeRoundLine(std::string_view text);

}  // namespace tributary
