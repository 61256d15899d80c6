// The answer to a submission: whether the update counts, and with which weight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/learning/round/submission.h"

namespace tributary::learning {

enum class AdmissionVerdict : std::uint8_t { kGo, kAlreadyAccepted, kRefused };

struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::kRefused;
  double weight = 0;  // kGo: by which to add the update
  SubmissionRefusal reason = SubmissionRefusal::kUnspecified;
  std::string message;     // which field, what was found, what is allowed
  bool try_again = false;  // the same update may be taken later
  // Set if a partial sum can be taken without these contributors. Names the first kNamed of them.
  static constexpr std::size_t kNamed = 1'000;
  std::vector<std::string> counted_elsewhere = {};

  bool go() const { return verdict == AdmissionVerdict::kGo; }

  static Admission Go(double weight) {
    return {AdmissionVerdict::kGo, weight, SubmissionRefusal::kUnspecified, {}, false, {}};
  }
  static Admission AlreadyAccepted() {
    return {AdmissionVerdict::kAlreadyAccepted, 0, SubmissionRefusal::kUnspecified, {}, false, {}};
  }
  static Admission Refused(SubmissionRefusal reason, std::string message, bool try_again = false) {
    return {AdmissionVerdict::kRefused, 0, reason, std::move(message), try_again, {}};
  }
};

// Whether the update itself is at fault, so that sending it again cannot help.
bool IsFaultOfUpdate(SubmissionRefusal reason);

}  // namespace tributary::learning
