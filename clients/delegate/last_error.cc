#include "clients/delegate/last_error.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace tributary::delegate {
namespace {

// The size is fixed, so that a failure for want of memory can still say so.
thread_local std::array<char, 2048> last_error = {};

tributary_delegate_status StatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return TRIBUTARY_DELEGATE_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return TRIBUTARY_DELEGATE_NOT_FOUND;
    case absl::StatusCode::kPermissionDenied:
      return TRIBUTARY_DELEGATE_PERMISSION_DENIED;
    case absl::StatusCode::kResourceExhausted:
      return TRIBUTARY_DELEGATE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return TRIBUTARY_DELEGATE_FAILED_PRECONDITION;
    case absl::StatusCode::kUnavailable:
      return TRIBUTARY_DELEGATE_UNAVAILABLE;
    default:
      return TRIBUTARY_DELEGATE_INTERNAL;
  }
}

}  // namespace

void SetLastError(std::string_view text) noexcept {
  text = text.substr(0, last_error.size() - 1);
  std::ranges::transform(text, last_error.begin(), [](char c) { return c >= 0x20 && c < 0x7f ? c : '?'; });
  last_error[text.size()] = '\0';
}

const char* LastError() noexcept { return last_error.data(); }

tributary_delegate_status Answer(const absl::Status& status) noexcept {
  if (status.ok()) return TRIBUTARY_DELEGATE_OK;
  const auto text = status.message();
  SetLastError({text.data(), text.size()});
  return StatusOf(status.code());
}

}  // namespace tributary::delegate
