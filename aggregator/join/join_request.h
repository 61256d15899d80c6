// What a board sends to join.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "tributary/v1/certificate.pb.h"

namespace tributary::join {

// A body has a certificate request with its escapes, and a name.
inline constexpr std::size_t kMostJoinBytes = std::size_t{16} << 10;

// JSON in protobuf's mapping, whose unknown fields are ignored. InvalidArgument, with the place of the fault.
absl::StatusOr<v1::JoinRequest> ParseJoinRequest(std::string_view body);

}  // namespace tributary::join
