// What a node says about an update before it sends it, and the answer: whether it is taken, or why not.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parameters/task_answer.h"
#include "core/parameters/tensor.h"
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
inline constexpr auto kSubmissionRefusalNames = std::to_array<std::string_view>(
    {"unspecified",  "unknown_run", "not_running",  "not_joined", "not_asked",    "stale",
     "future_round", "late",        "identity",     "schema",     "base_model",   "encoding",
     "sample_count", "not_finite",  "out_of_range", "corrupt",    "out_of_order", "incomplete",
     "too_large",    "duplicate",   "contributors", "store",      "malformed",    "busy"});
inline constexpr std::size_t kSubmissionRefusals = kSubmissionRefusalNames.size();

// "stale", "not_finite" …: the label of a metric.
constexpr std::string_view SubmissionRefusalName(SubmissionRefusal refusal) {
  return kSubmissionRefusalNames[static_cast<std::size_t>(refusal)];
}

enum class AdmissionVerdict : std::uint8_t { kGo, kAlreadyAccepted, kRefused };

// The answer to a submission: whether the update counts, and with which weight.
struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::kRefused;
  double weight = 0;  // kGo: by which to add the update
  SubmissionRefusal reason = SubmissionRefusal::kUnspecified;
  std::string message = {};  // which field, what was found, what is allowed
  bool try_again = false;    // the same update may be taken later
  // Set if a partial sum can be taken without these contributors. Names the first kNamed of them.
  static constexpr std::size_t kNamed = 1'000;
  std::vector<std::string> counted_elsewhere = {};

  bool go() const { return verdict == AdmissionVerdict::kGo; }

  static Admission Go(double weight) { return {AdmissionVerdict::kGo, weight}; }
  static Admission AlreadyAccepted() { return {AdmissionVerdict::kAlreadyAccepted}; }
  template <class... Args>
  static Admission Refused(SubmissionRefusal reason, fmt::format_string<Args...> message, Args&&... args) {
    return {AdmissionVerdict::kRefused, 0, reason, fmt::format(message, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Admission TryAgain(SubmissionRefusal reason, fmt::format_string<Args...> message, Args&&... args) {
    return {AdmissionVerdict::kRefused, 0, reason, fmt::format(message, std::forward<Args>(args)...), true};
  }
};

}  // namespace tributary::learning
