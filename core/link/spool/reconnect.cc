#include "core/link/spool/reconnect.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace tributary::link {

std::int64_t Backoff::Next() {
  constexpr unsigned kMaxDoublings = 32;
  const unsigned doublings = std::min(attempts_++, kMaxDoublings);
  const std::int64_t ceiling =
      limits_.first_ns > (limits_.cap_ns >> doublings) ? limits_.cap_ns : limits_.first_ns << doublings;
  return std::uniform_int_distribution<std::int64_t>(ceiling / 2, ceiling)(random_);
}

bool Reconnect::MayPass(const absl::Status& error) {
  constexpr absl::StatusCode kPassing[] = {
      absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded,
      absl::StatusCode::kCancelled,   absl::StatusCode::kInternal,
      absl::StatusCode::kUnknown,     absl::StatusCode::kResourceExhausted};
  return absl::c_linear_search(kPassing, error.code());
}

bool Reconnect::IsRefusal(const absl::Status& error) {
  constexpr absl::StatusCode kRefusals[] = {
      absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
      absl::StatusCode::kPermissionDenied, absl::StatusCode::kUnauthenticated,
      absl::StatusCode::kUnimplemented};
  return absl::c_linear_search(kRefusals, error.code());
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
