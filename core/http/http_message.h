// Parses request targets.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "core/http/http_server.h"

namespace tributary::http {

// Parses "/api/v1/events?site=lab&rate_hz=5". Errors: InvalidArgument for a target that does not begin with
// '/', has a broken percent escape, or decodes to a control character.
absl::StatusOr<HttpRequest> ParseHttpTarget(std::string_view target);

}  // namespace tributary::http
