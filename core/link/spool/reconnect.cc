#include "core/link/spool/reconnect.h"

namespace tributary::link {

bool Reconnect::MayPass(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

bool Reconnect::IsRefusal(const absl::Status& error) {
  switch (error.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

void Reconnect::Recovered() {
  lost_link_.Reset();
  refused_.Reset();
}

std::int64_t Reconnect::DelayNs(const absl::Status& error) {
  const bool slowly = !MayPass(error) || error.code() == absl::StatusCode::kResourceExhausted;
  return slowly ? refused_.Next() : lost_link_.Next();
}

}  // namespace tributary::link
