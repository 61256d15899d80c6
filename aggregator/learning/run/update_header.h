// An update's header, as it travels and as it is stored.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/round/submission.h"
#include "core/parameters/identity.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// A name of 1 to 128 bytes without control characters: it goes into logs and onto terminals. InvalidArgument,
// naming the field.
absl::Status CheckName(std::string_view field, const std::string& name);

// A digest or a key. InvalidArgument, naming the field.
absl::StatusOr<parameters::Sha256> Bytes32FromWire(std::string_view field, const std::string& bytes);

// InvalidArgument, naming the field.
absl::StatusOr<SubmissionHeader> HeaderFromWire(const v1::UpdateHeader& wire);

// Without the run and the process that sent it.
v1::UpdateHeader HeaderToWire(const SubmissionHeader& header);

// Nothing if the encoding is not known here.
std::optional<parameters::UpdateEncoding> EncodingFromWire(int encoding);

}  // namespace tributary::learning
