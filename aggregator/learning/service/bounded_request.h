// Requests whose size and number of fields are looked at before they are parsed.
#pragma once

#include <fmt/format.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <array>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/learning/run/messages.h"
#include "core/privacy/secure_aggregation.h"
#include "core/status/macros.h"
#include "core/wire/field_count.h"

namespace tributary::learning {

// What nodes say between updates: some texts, and a share for each node that masks.
inline constexpr std::size_t kMaxStepFields = 2 * privacy::kMaxMaskingNodes + 16;
inline constexpr std::size_t kMaxStepBytes = std::size_t{512} << 10;
// A message of an upload: a header or a chunk, and in a header the contributors of a partial sum. Two empty
// bytes on the wire are a contributor of fifty in memory.
inline constexpr std::size_t kMaxUploadFields = 2;
inline constexpr std::size_t kMaxHeaderFields = kMaxContributors + 64;
inline constexpr std::size_t kMaxChunkFields = 64;

// InvalidArgument: too many fields, or no such message.
template <class Message>
absl::Status ParseBounded(grpc::ByteBuffer& bytes, Message& message, std::size_t fields,
                          std::array<wire::NestedFields, 3> nested = {}) {
  {
    grpc::ProtoBufferReader reader(&bytes);
    if (wire::HasMoreFields(reader, fields, nested)) {
      std::string within;
      for (const wire::NestedFields& each : nested) {
        if (each.number > 0)
          within += fmt::format(", or than {} inside of field {}", each.limit, each.number);
      }
      return absl::InvalidArgumentError(
          fmt::format("message: more than the {} fields that are allowed{}", fields, within));
    }
  }
  if (grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok()) return absl::OkStatus();
  return absl::InvalidArgumentError("message: does not parse");
}

// The same for a message of bounded size.
template <class Request>
absl::StatusOr<Request> ParseStep(grpc::ByteBuffer bytes) {
  if (bytes.Length() > kMaxStepBytes) {
    return absl::InvalidArgumentError(
        fmt::format("message: {} bytes, at most {} are allowed", bytes.Length(), kMaxStepBytes));
  }
  Request request;
  RETURN_IF_ERROR(ParseBounded(bytes, request, kMaxStepFields));
  return request;
}

}  // namespace tributary::learning
