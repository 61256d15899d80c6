// Requests whose size and number of fields are looked at before they are parsed.
#pragma once

#include <fmt/format.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/privacy/secure_aggregation.h"
#include "core/wire/field_count.h"

namespace tributary::learning {

// What nodes say between updates: some texts, and a share for each node that masks.
inline constexpr std::size_t kMaxStepFields = 2 * privacy::kMaxMaskingNodes + 16;
inline constexpr std::size_t kMaxStepBytes = std::size_t{512} << 10;

// InvalidArgument: too large, too many fields, or no such message.
template <class Request>
absl::StatusOr<Request> ParseStep(grpc::ByteBuffer bytes) {
  if (bytes.Length() > kMaxStepBytes) {
    return absl::InvalidArgumentError(
        fmt::format("message: {} bytes, at most {} are allowed", bytes.Length(), kMaxStepBytes));
  }
  {
    grpc::ProtoBufferReader reader(&bytes);
    if (wire::HasMoreFields(reader, kMaxStepFields)) {
      return absl::InvalidArgumentError(
          fmt::format("message: more than the {} fields that are allowed", kMaxStepFields));
    }
  }
  Request request;
  if (grpc::SerializationTraits<Request>::Deserialize(&bytes, &request).ok()) return request;
  return absl::InvalidArgumentError("message: does not parse");
}

}  // namespace tributary::learning
