// How large a hello may be: an aggregator reads it on the thread that fuses.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "core/wire/field_count.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

// The whole message: it carries nothing else.
inline constexpr std::size_t kMaxHelloBytes = std::size_t{64} << 10;

// The fields of a hello in a ReportRequest: each of a few bytes takes a hundred in memory, and a name is
// compared with all others. 256 sources with some leaves each are allowed.
NestedFields HelloFields();

// What a peer is told whose message has this many bytes: too many, or too many fields. InvalidArgument.
absl::Status TooLargeHello(std::size_t bytes);

// Whether an aggregator takes a hello of this size, for whoever is going to say it. Errors: TooLargeHello.
absl::Status CheckHelloSize(const v1::Hello& hello);

}  // namespace tributary::wire
