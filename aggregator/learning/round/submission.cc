#include "aggregator/learning/round/submission.h"

#include <array>

namespace tributary::learning {

std::string_view SubmissionRefusalName(SubmissionRefusal refusal) {
  static constexpr std::array<std::string_view, kSubmissionRefusals> kNames = {
      "unspecified",  "unknown_run", "not_running",  "not_joined", "not_asked",    "stale",
      "future_round", "late",        "identity",     "schema",     "base_model",   "encoding",
      "sample_count", "not_finite",  "out_of_range", "corrupt",    "out_of_order", "incomplete",
      "too_large",    "duplicate",   "contributors", "store",      "malformed",    "busy"};
  return kNames[static_cast<std::size_t>(refusal)];
}

SubmissionRefusal RefusalOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return SubmissionRefusal::kNotFinite;
    case absl::StatusCode::kOutOfRange:
      return SubmissionRefusal::kOutOfRange;
    case absl::StatusCode::kFailedPrecondition:
      return SubmissionRefusal::kOutOfOrder;
    case absl::StatusCode::kDataLoss:
      return SubmissionRefusal::kCorrupt;
    case absl::StatusCode::kResourceExhausted:
      return SubmissionRefusal::kTooLarge;
    default:
      return SubmissionRefusal::kUnspecified;
  }
}

}  // namespace tributary::learning
