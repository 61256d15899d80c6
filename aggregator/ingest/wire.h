// Small steps between gRPC's types and ours.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace tributary {

// Codes are numbered alike on both sides.
inline grpc::Status ToGrpcStatus(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

// Overwrites `message` and keeps its memory. False: the bytes do not parse. Empties `bytes`.
template <typename Message>
bool ParseMessage(grpc::ByteBuffer& bytes, Message& message) {
  grpc::ProtoBufferReader reader(&bytes);
  const bool parsed = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  bytes.Clear();
  return parsed;
}

// Whether the message has more than `limit` fields at its top level. Two bytes on the wire can become a
// submessage of a hundred in memory, and reused messages keep it: a look at the tags alone bounds that.
inline bool HasMoreFields(grpc::ByteBuffer& bytes, std::size_t limit) {
  using google::protobuf::internal::WireFormatLite;
  if (bytes.Length() <= 2 * limit) return false;
  grpc::ProtoBufferReader reader(&bytes);
  google::protobuf::io::CodedInputStream input(&reader);
  std::size_t fields = 0;
  while (const std::uint32_t tag = input.ReadTag()) {
    if (++fields > limit) return true;
    if (!WireFormatLite::SkipField(&input, tag)) break;
  }
  return false;
}

template <typename Message>
grpc::ByteBuffer SerializeMessage(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  // Fails only for messages beyond 2 GiB.
  (void)grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  return bytes;
}

// The common name of the peer's certificate; nothing where TLS is off.
inline std::optional<std::string> PeerCertificateName(const grpc::AuthContext& context) {
  if (!context.IsPeerAuthenticated()) return std::nullopt;
  const auto names = context.FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  // Authenticated, but nameless: equal to no node's name.
  return names.empty() ? std::string() : std::string(names.front().data(), names.front().size());
}

}  // namespace tributary
