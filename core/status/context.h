// Says where an error happened.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tributary {

// "context: message", with the same code; an OK status stays one.
inline absl::Status WithContext(std::string_view context, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(std::string(context), ": ", status.message()));
}

}  // namespace tributary
