// What a node is answered to an update: whether it is taken, or why not.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "core/parameters/update_encoding.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// "stale", "not_finite" …: the label of a metric.
inline std::string RefusalName(v1::SubmitRefusal reason) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::SubmitRefusal_Name(reason), "SUBMIT_REFUSAL_"));
}
// The same of "images", "memory" …
inline std::string DeclineName(v1::DeclineReason reason) {
  return absl::AsciiStrToLower(absl::StripPrefix(v1::DeclineReason_Name(reason), "DECLINE_REASON_"));
}

// The numbers are equal.
inline parameters::UpdateEncoding EncodingOf(const v1::UpdateHeader& header) {
  return static_cast<parameters::UpdateEncoding>(header.encoding());
}

enum class AdmissionVerdict : std::uint8_t { kGo, kAlreadyAccepted, kRefused };

// The answer to a submission: whether the update counts, and with which weight.
struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::kRefused;
  double weight = 0;  // kGo: by which to add the update
  v1::SubmitRefusal reason = v1::SUBMIT_REFUSAL_UNSPECIFIED;
  std::string message = {};  // which field, what was found, what is allowed
  bool try_again = false;    // the same update may be taken later
  // Set if a partial sum can be taken without these contributors. Names the first kNamed of them.
  static constexpr std::size_t kNamed = 1'000;
  std::vector<std::string> counted_elsewhere = {};

  bool go() const { return verdict == AdmissionVerdict::kGo; }

  static Admission Go(double weight) { return {AdmissionVerdict::kGo, weight}; }
  static Admission AlreadyAccepted() { return {AdmissionVerdict::kAlreadyAccepted}; }
  template <class... Args>
  static Admission Refused(v1::SubmitRefusal reason, fmt::format_string<Args...> message, Args&&... args) {
    return {AdmissionVerdict::kRefused, 0, reason, fmt::format(message, std::forward<Args>(args)...)};
  }
  template <class... Args>
  static Admission TryAgain(v1::SubmitRefusal reason, fmt::format_string<Args...> message, Args&&... args) {
    return {AdmissionVerdict::kRefused, 0, reason, fmt::format(message, std::forward<Args>(args)...), true};
  }
};

}  // namespace tributary::learning
