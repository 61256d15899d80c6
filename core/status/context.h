// Says where an error happened.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace tributary {

// "context: message", with the same code; an OK status stays one.
inline absl::Status WithContext(std::string_view context, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(std::string(context), ": ", status.message()));
}

// The result; an error has the context before its message.
template <class T>
absl::StatusOr<T> WithContext(std::string_view context, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return WithContext(context, result.status());
}

}  // namespace tributary
