#include "aggregator/learning/round/admission.h"

namespace tributary::learning {

bool IsFaultOfUpdate(SubmissionRefusal reason) {
  switch (reason) {
    case SubmissionRefusal::kSchema:
    case SubmissionRefusal::kBaseModel:
    case SubmissionRefusal::kEncoding:
    case SubmissionRefusal::kSampleCount:
    case SubmissionRefusal::kNotFinite:
    case SubmissionRefusal::kOutOfRange:
    case SubmissionRefusal::kTooLarge:
    case SubmissionRefusal::kContributors:
      return true;
    default:
      return false;
  }
}

}  // namespace tributary::learning
