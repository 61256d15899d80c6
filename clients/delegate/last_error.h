// The text of each thread's last failure, and the statuses of the C interface.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "clients/delegate/tributary_delegate.h"

namespace tributary::delegate {

// Bytes other than printable ASCII become question marks; what is too long is cut.
void SetLastError(std::string_view text) noexcept;
const char* LastError() noexcept;

// OK, or the status of a failure, whose text becomes the thread's last error.
tributary_delegate_status Answer(const absl::Status& status) noexcept;

}  // namespace tributary::delegate
