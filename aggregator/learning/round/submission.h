// What a node says about an update before it sends it, and why it may not be taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "core/parameters/identity.h"
#include "core/parameters/training_metrics.h"
#include "core/parameters/update_encoding.h"

namespace tributary::learning {

struct Contribution {
  std::string node;
  std::uint64_t sample_count = 0;

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

struct SubmissionHeader {
  std::uint32_t round = 0;
  std::string node;
  parameters::Sha256 schema{};
  parameters::Sha256 base_model{};
  parameters::UpdateEncoding encoding = parameters::UpdateEncoding::kFloat32;
  std::uint64_t element_count = 0;
  std::uint64_t sample_count = 0;  // a partial sum's: that of its contributors together
  parameters::TrainingMetrics metrics;
  std::vector<Contribution> contributors;  // of a partial sum; empty: the node itself
};

// As SubmitRefusal of federation.proto; the numbers are equal.
enum class SubmissionRefusal : std::uint8_t {
  kUnspecified = 0,
  kUnknownRun = 1,
  kNotRunning = 2,
  kNotJoined = 3,
  kNotAsked = 4,
  kStale = 5,
  kFutureRound = 6,
  kLate = 7,
  kIdentity = 8,
  kSchema = 9,
  kBaseModel = 10,
  kEncoding = 11,
  kSampleCount = 12,
  kNotFinite = 13,
  kOutOfRange = 14,
  kCorrupt = 15,
  kOutOfOrder = 16,
  kIncomplete = 17,
  kTooLarge = 18,
  kDuplicate = 19,
  kContributors = 20,
  kStore = 21,
  kMalformed = 22,
  kBusy = 23,
};
inline constexpr std::size_t kSubmissionRefusals = 24;

// "stale", "not_finite" …: the label of a metric.
std::string_view SubmissionRefusalName(SubmissionRefusal refusal);

// What an error of UpdateDecoder or Accumulator::Add means to the node that sent the chunk.
SubmissionRefusal RefusalOf(const absl::Status& status);

}  // namespace tributary::learning
